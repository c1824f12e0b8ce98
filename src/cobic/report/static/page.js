// Table, pictures, what they say under the mouse, theme. Everything from the data is shown as text, never as HTML.
"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
  const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "");

  for (const bar of document.querySelectorAll("[data-share]")) bar.style.width = `${bar.dataset.share}%`;

  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  // --- the table of features
  const features = data.features, means = features ? features.means.map((text) => unpack(text, Float64Array)) : [];
  const kept = features && features.kept && unpack(features.kept, Uint8Array);
  const classOf = features && unpack(features.cls, Int16Array);
  const className = (row) => (classOf[row] < 0 ? "" : data.classes[classOf[row]].name);
  // `need`: which columns a narrow window leaves out first.
  const brief = (value) => (value && Math.abs(value) < 1e-2 ? value.toExponential(1) : short(value));
  const numbers = (title, values, width, need) => ({
    title, width, need, number: true, text: (row) => brief(values[row]), value: (row) => values[row],
    csv: (row) => (Number.isNaN(values[row]) ? "" : values[row]),
  });
  const faded = (cell, row) => { if (kept && !kept[row]) cell.className = "away"; };
  const named = (cell, row) => {
    faded(cell, row);
    const mark = cell.appendChild(document.createElement("i"));
    mark.className = "dot";
    mark.style.background = classOf[row] < 0 ? "none" : data.classes[classOf[row]].colour;
  };
  const words = (title, width, need, text, style, csv = text) => ({ title, width, need, text, value: text, style, csv });
  const perClass = () => {
    const pen = document.createElement("canvas").getContext("2d"), { fontSize, fontFamily } = getComputedStyle(byId("table"));
    pen.font = `600 ${fontSize} ${fontFamily}`;
    return means.map((values, cls) => {
      const title = `mean ${data.classes[cls].name}`, wide = Math.ceil(pen.measureText(title).width) + 2;
      return numbers(title, values, Math.min(120, Math.max(64, wide)), cls < 2 ? 1 : 6);
    });
  };
  const further = () => features.more.map(([title, key, width]) => numbers(title, unpack(features[key], Float64Array), width, 3));
  const effects = () => Object.entries(features.effects).map(([title, text]) => numbers(title, unpack(text, Float64Array), Math.max(62, 9 * title.length), title === "t" ? 5 : 4));
  const columns = () => [
    words("feature", 92, 0, (row) => features.name[row], named),
    words("class", 50, 2, className),
    ...(kept ? [words("selected", 70, 2, (row) => (kept[row] ? "kept" : "dropped"), faded, (row) => (kept[row] ? "True" : "False"))] : []),
    ...further(), ...perClass(), ...effects(),
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
    const first = table.columns.find((column) => column.title === features.sorted);
    if (first) table.sort(first);
    const ask = () => table.filter({ text: byId("search").value.trim().toLowerCase(), which: which ? which.value : "" });
    byId("search").addEventListener("input", ask);
    if (which) which.addEventListener("change", ask);
    byId("csv").addEventListener("click", () => save(new Blob([table.csv()], { type: "text/csv" }), "features.csv"));
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
  const strips = data.strips && cobic.strips(tools);
  if (strips) painters.push(strips.painter);

  // --- every picture as a file
  const offer = (after, name, make) => {
    const place = document.createElement("div");
    place.className = "downloads";
    for (const kind of ["svg", "png"]) {
      const button = place.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = kind.toUpperCase();
      button.title = `Download this picture as ${kind.toUpperCase()}`;
      button.addEventListener("click", async () => save(await make(kind), `${name}.${kind}`));
    }
    after.after(place);
  };
  for (const [id, view] of Object.entries(views)) offer(byId(id), id.replace("plot-", ""), (kind) => view.export(kind, true).to_blob());
  if (data.strips) offer(byId("strips"), "values", strips.picture);

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
