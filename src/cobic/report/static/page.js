// Table, pictures, what they say under the mouse, theme. Everything from the data is shown as text, never as HTML.
"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
  const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "");

  // --- the table of features
  const features = data.features, means = features ? features.means.map((text) => unpack(text, Float64Array)) : [];
  const kept = features && features.kept && unpack(features.kept, Uint8Array);
  const classOf = features && unpack(features.cls, Int16Array);
  const className = (row) => (classOf[row] < 0 ? "" : data.classes[classOf[row]].name);
  const numbers = (title, values, width) => ({
    title, width, number: true, text: (row) => short(values[row]), value: (row) => values[row],
    csv: (row) => (Number.isNaN(values[row]) ? "" : values[row]),
  });
  const dot = (cell, row) => {
    if (classOf[row] < 0) return;
    const mark = cell.appendChild(document.createElement("i"));
    mark.className = "dot";
    mark.style.background = data.classes[classOf[row]].colour;
  };
  const faded = (cell, row) => { if (kept && !kept[row]) cell.className = "away"; };
  const words = (title, width, text, style, csv = text) => ({ title, width, text, value: text, style, csv });
  const perClass = () => means.map((values, cls) => numbers(`mean ${data.classes[cls].name}`, values, 84));
  const further = () => features.more.map(([title, key, width]) => numbers(title, unpack(features[key], Float64Array), width));
  const columns = () => [
    words("feature", 130, (row) => features.name[row], faded),
    words("class", 76, className, dot),
    ...(kept ? [words("selected", 76, (row) => (kept[row] ? "kept" : "dropped"), faded, (row) => (kept[row] ? "True" : "False"))] : []),
    ...(features.means_last ? [...further(), ...perClass()] : [...perClass(), ...further()]),
  ];
  const fillTable = () => {
    const lower = features.name.map((name) => name.toLowerCase());
    const classLower = data.classes.map((each) => each.name.toLowerCase());
    const matches = (row, query) =>
      (!query.which || (query.which === "kept") === Boolean(kept[row])) &&
      (!query.text || lower[row].includes(query.text) || (classOf[row] >= 0 && classLower[classOf[row]] === query.text));
    const count = features.name.length, which = byId("which");
    byId("table").style.setProperty("--rows", count);
    const table = new cobic.Table(byId("table"), columns(), count, (row, query) => matches(row, query || {}), (shown, hidden) => {
      const rows = shown === count ? `${count} features` : `${shown} of ${count} features`;
      byId("shown").textContent = rows + (hidden ? `; ${hidden} more columns in a wider window, and in the CSV` : "");
    });
    const ask = () => table.filter({ text: byId("search").value.trim().toLowerCase(), which: which ? which.value : "" });
    byId("search").addEventListener("input", ask);
    if (which) which.addEventListener("change", ask);
    byId("csv").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([table.csv()], { type: "text/csv" }));
      link.download = "features.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  };
  if (features) fillTable();

  // --- pictures
  const views = {};
  for (const item of data.figures) {
    const manager = await Bokeh.embed.embed_item(item);
    views[item.target_id] = manager.roots ? [...manager.roots][0] : Object.values(manager)[0];
  }
  const say = (id, text) => {
    const output = byId(`read-${id}`);
    output.textContent = text || output.dataset.hint;
    output.classList.toggle("live", Boolean(text));
  };
  const follow = (target, id, telling) => {
    const view = views[`plot-${target}`];
    if (!view) return;
    view.model.on_event("mousemove", (event) => say(id, telling(event.x, event.y)));
    view.model.on_event("mouseleave", () => say(id, ""));
  };
  const nearest = (notes) => (x) => {
    let best = 0;
    notes.at.forEach((place, index) => { if (Math.abs(place - x) < Math.abs(notes.at[best] - x)) best = index; });
    return notes.text[best];
  };
  for (const id of Object.keys(data.notes)) follow(id, id, nearest(data.notes[id]));
  if (data.notes.path) follow("error", "path", nearest(data.notes.path));
  const tools = { byId, data, unpack, short, views, say, follow, className, classOf, kept, means };
  const painters = [];
  if (data.heatmap) painters.push(cobic.heatmap(tools));
  if (data.strips) painters.push(cobic.strips(tools));

  // --- light and dark: follows the system until the button is used
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const paint = (all) => {
    const style = getComputedStyle(root), shade = (name) => style.getPropertyValue(name).trim();
    const [ink, quiet, line, paper] = ["--ink", "--quiet", "--line", "--paper"].map(shade);
    for (const { model } of Object.values(views)) {
      model.setv({ background_fill_color: paper, border_fill_color: paper });
      for (const axis of [...model.left, ...model.below]) axis.setv({ major_label_text_color: quiet, axis_label_text_color: quiet });
      for (const grid of model.center.filter((each) => each.type === "Grid")) grid.setv({ grid_line_color: line });
      for (const rule of model.center.filter((each) => each.name === "ink")) rule.setv({ line_color: ink });
    }
    for (const painter of painters) painter(shade, all === true);  // all: also what is out of sight
    byId("theme").textContent = dark() ? "Light" : "Dark";
  };
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    paint();
  });
  system.addEventListener("change", paint);
  paint();

  // --- paper is white, and as wide as it is: pictures go there as images
  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    paint(true);
    for (const [id, view] of Object.entries(views)) {
      const picture = byId(id).querySelector(".printed") || byId(id).appendChild(document.createElement("img"));
      picture.className = "printed";
      picture.src = view.export("png", true).canvas.toDataURL();
    }
  });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before; else delete root.dataset.theme;
    paint();
  });
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));  // it has been painted
  root.dataset.ready = String(Math.round(performance.now()));
})();
