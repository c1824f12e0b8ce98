// Bokeh puts style sheets into its pictures. The policy of the page takes those with the nonce of the page's own.
"use strict";
{
  const { nonce } = document.querySelector("style");
  const create = document.createElement.bind(document);
  document.createElement = (name, ...options) => {
    const made = create(name, ...options);
    if (made instanceof HTMLStyleElement) made.nonce = nonce;
    return made;
  };
}
