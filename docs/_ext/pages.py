"""What is done to our pages, which read well as plain text, to read well on the site.

A link that is called by its file is called by the title of what it leads to; a number stays on the line of what
follows it; formulas, which are indented, have their subscripts.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# Pages that stand beside docs/, as forges want it, by the page that includes them.
INCLUDED_BY = {
    "CHANGELOG": "changelog",
    "CODE_OF_CONDUCT": "conduct",
    "CONTRIBUTING": "development",
    "SECURITY": "security",
}


def call_by_title(_app: Sphinx, *places_and_source: Any) -> None:
    """Change the source of a page, or of what it includes."""
    source: list[str] = places_and_source[-1]
    text = re.sub(r"(?<=\d) ([±×] (?=\d)|%)", lambda kept: f"\u00a0{kept[1]}".replace(" ", "\u00a0"), source[0])
    text = re.sub(r"\[[\w/-]+\.md\]\(", "[](", text)
    source[0] = re.sub(rf"\]\(({'|'.join(INCLUDED_BY)})\.md", lambda link: f"](docs/{INCLUDED_BY[link[1]]}.md", text)


def formula(text: str) -> str:
    """HTML of a formula as plain text: _ij and _{F_r} are subscripts, single letters are variables.

    >>> formula("Σ_{F_r} a_ij > 1")
    'Σ<sub><i>F</i><sub><i>r</i></sub></sub> <i>a</i><sub><i>ij</i></sub> &gt; 1'
    """
    html = re.sub(r"(?<![^\W\d_])([^\W\d_Σ])(?![^\W\d_])", r"<i>\1</i>", escape(text))
    html = re.sub(r"_(?:<i>)?([^\W_]+)(?:</i>)?", r"<sub><i>\1</i></sub>", html)
    return re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", html)


def set_formulas(_app: Sphinx, page: nodes.document) -> None:
    """Replace indented text: code stands between fences, and has a language."""
    for block in list(page.findall(nodes.literal_block)) if page["source"].endswith(".md") else []:
        if block.get("language") == "none":
            block.replace_self(nodes.raw("", f'<p class="formula">{formula(block.astext())}</p>', format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect."""
    app.connect("source-read", call_by_title)
    app.connect("include-read", call_by_title)
    app.connect("doctree-read", set_formulas)
    return {"parallel_read_safe": True}
