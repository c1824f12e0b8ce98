// Theme, pictures, and what they say under the mouse. Everything from the data is shown as text, never as HTML.
"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)).buffer);
  const short = (value) => (Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "");

  // --- the table of features
  const features = data.features, means = features.means.map((text) => unpack(text, Float64Array));
  const kept = unpack(features.kept, Uint8Array), classOf = unpack(features.cls, Int16Array);
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
  const faded = (cell, row) => { if (!kept[row]) cell.className = "away"; };
  const words = (title, width, text, style, csv = text) => ({ title, width, text, value: text, style, csv });
  const columns = [
    words("feature", 130, (row) => features.name[row], faded),
    words("class", 76, className, dot),
    words("selected", 76, (row) => (kept[row] ? "kept" : "dropped"), faded, (row) => (kept[row] ? "True" : "False")),
    ...means.map((values, cls) => numbers(`mean ${data.classes[cls].name}`, values, 84)),
  ];
  if (features.rank) {
    columns.push(numbers("rank", unpack(features.rank, Float64Array), 60));
    columns.push(numbers("survives", unpack(features.survives, Float64Array), 76));
  }
  const lower = features.name.map((name) => name.toLowerCase());
  const classLower = data.classes.map((each) => each.name.toLowerCase());
  const matches = (row, query) =>
    (!query.which || (query.which === "kept") === Boolean(kept[row])) &&
    (!query.text || lower[row].includes(query.text) || (classOf[row] >= 0 && classLower[classOf[row]] === query.text));
  const count = features.name.length;
  const table = new cobic.Table(byId("table"), columns, count, (row, query) => matches(row, query || {}), (shown, hidden) => {
    const rows = shown === count ? `${count} features` : `${shown} of ${count} features`;
    byId("shown").textContent = rows + (hidden ? `; ${hidden} more columns in a wider window, and in the CSV` : "");
  });
  const ask = () => table.filter({ text: byId("search").value.trim().toLowerCase(), which: byId("which").value });
  byId("search").addEventListener("input", ask);
  byId("which").addEventListener("change", ask);
  byId("csv").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table.csv()], { type: "text/csv" }));
    link.download = "features.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });

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
  for (const [target, id] of [["margins", "margins"], ["course", "course"], ["path", "path"], ["error", "path"]])
    if (data.notes[id]) follow(target, id, nearest(data.notes[id]));

  // --- the heatmap
  const heatmap = data.heatmap, place = unpack(heatmap.columns, Int32Array);
  const centres = unpack(heatmap.centres, Float64Array), scales = unpack(heatmap.scales, Float64Array);
  const figure = views["plot-heatmap"].model;
  const image = figure.renderers.find((each) => each.glyph.type === "Image");
  const cells = unpack(heatmap.cells, Uint8Array), height = heatmap.rows.length;
  const blank = image.data_source.get("image")[0];
  // As many columns as there are pixels, each the mean of its cells: no feature is skipped, whatever the zoom.
  const redraw = () => {
    const start = Math.max(0, Math.floor(figure.x_range.start));
    const stop = Math.min(place.length, Math.ceil(figure.x_range.end));
    const step = Math.max(1, (stop - start) / Math.max(1, views["plot-heatmap"].frame.bbox.width));
    const width = Math.ceil((stop - start) / step), drawn = new Uint8Array(height * width);
    for (let column = 0; column < width; column++) {
      const from = start + Math.floor(column * step);
      const to = Math.min(stop, start + Math.floor((column + 1) * step));
      for (let row = 0; row < height; row++) {
        let sum = 0;
        for (let cell = row * place.length + from; cell < row * place.length + to; cell++) sum += cells[cell];
        drawn[row * width + column] = Math.round(sum / (to - from));
      }
    }
    const picture = new blank.constructor(drawn.buffer, [height, width]);
    image.data_source.data = { image: [picture], x: [start], y: [0], dw: [stop - start], dh: [height] };
  };
  let waiting = 0;
  const soon = () => { waiting = waiting || requestAnimationFrame(() => { waiting = 0; redraw(); }); };
  figure.x_range.change.connect(soon);
  new ResizeObserver(soon).observe(byId("plot-heatmap"));
  redraw();
  follow("heatmap", "heatmap", (x, y) => {
    const column = Math.floor(x), row = Math.floor(y);
    if (!(column >= 0 && column < place.length)) return "";
    const feature = place[column];
    const about = `${features.name[feature]} · ${className(feature) || "no class"} · ${kept[feature] ? "kept" : "dropped"}`;
    if (!(row >= 0 && row < heatmap.rows.length)) return about;
    const score = (cells[row * place.length + column] / 127 - 1) * heatmap.span;
    const beyond = Math.abs(score) >= heatmap.span ? " or beyond" : "";
    const value = short(centres[column] + score * scales[column]);
    return `${about} — ${heatmap.rows[row]} · about ${value}${beyond} (${score < 0 ? "−" : "+"}${Math.abs(score).toFixed(1)} sd)`;
  });
  const buttons = [...byId("zoom").querySelectorAll("button")];
  const whole = () => buttons[0].click();
  for (const button of buttons)
    button.addEventListener("click", () => {
      figure.x_range.setv({ start: Number(button.dataset.start), end: Number(button.dataset.stop) });
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    });
  figure.on_event("doubletap", whole);
  figure.on_event("rangesupdate", (event) => {
    for (const each of buttons)
      each.setAttribute("aria-pressed", String(Math.abs(each.dataset.start - event.x0) < 0.5 && Math.abs(each.dataset.stop - event.x1) < 0.5));
  });

  // --- light and dark: follows the system until the button is used
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const mixed = (from, to, share) => {
    const parts = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
    const ends = [parts(from), parts(to)];
    return "#" + ends[0].map((low, i) => Math.round(low + (ends[1][i] - low) * share).toString(16).padStart(2, "0")).join("");
  };
  const palette = (low, middle, high) =>
    Array.from({ length: 255 }, (_, i) => (i < 127 ? mixed(low, middle, i / 127) : mixed(middle, high, (i - 127) / 127)));
  const paint = () => {
    const style = getComputedStyle(root), shade = (name) => style.getPropertyValue(name).trim();
    const [ink, quiet, line, paper] = ["--ink", "--quiet", "--line", "--paper"].map(shade);
    for (const { model } of Object.values(views)) {
      model.setv({ background_fill_color: paper, border_fill_color: paper });
      for (const axis of [...model.left, ...model.below]) axis.setv({ major_label_text_color: quiet, axis_label_text_color: quiet });
      for (const grid of model.center.filter((each) => each.type === "Grid")) grid.setv({ grid_line_color: line });
      for (const rule of model.center.filter((each) => each.name === "ink")) rule.setv({ line_color: ink });
    }
    image.glyph.color_mapper.palette = palette(shade("--low"), shade("--middle"), shade("--high"));
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
    paint();
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
