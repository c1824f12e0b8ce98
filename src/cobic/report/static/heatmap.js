// The heatmaps of a selection: what their cells say, and the zoom of the large one.
"use strict";
var cobic = window.cobic || {};

// Returns how to paint it in the colours of a theme.
cobic.heatmap = ({ byId, data, unpack, short, views, follow, className, kept }) => {
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
    const about = `${data.features.name[feature]} · ${className(feature) || "no class"} · ${kept[feature] ? "kept" : "dropped"}`;
    if (!(row >= 0 && row < heatmap.rows.length)) return about;
    const score = (cells[row * place.length + column] / 127 - 1) * heatmap.span;
    const beyond = Math.abs(score) >= heatmap.span ? " or beyond" : "";
    const value = short(centres[column] + score * scales[column]);
    return `${about} — ${heatmap.rows[row]} · about ${value}${beyond} (${score < 0 ? "−" : "+"}${Math.abs(score).toFixed(1)} sd)`;
  });
  const top = data.top && unpack(data.top.cells, Uint8Array);
  follow("top", "top", (x, y) => {
    const sample = Math.floor(x), row = Math.floor(y), name = data.top.features[row];
    if (name === undefined || !(sample >= 0 && sample < height)) return "";
    const score = (top[row * height + sample] / 127 - 1) * heatmap.span;
    return `${name} — ${heatmap.rows[sample]} · ${score < 0 ? "−" : "+"}${Math.abs(score).toFixed(1)} sd`;
  });
  const buttons = [...byId("zoom").querySelectorAll("button")];
  for (const button of buttons)
    button.addEventListener("click", () => {
      figure.x_range.setv({ start: Number(button.dataset.start), end: Number(button.dataset.stop) });
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    });
  figure.on_event("doubletap", () => buttons[0].click());
  figure.on_event("rangesupdate", (event) => {
    for (const each of buttons)
      each.setAttribute("aria-pressed", String(Math.abs(each.dataset.start - event.x0) < 0.5 && Math.abs(each.dataset.stop - event.x1) < 0.5));
  });
  const mixed = (from, to, share) => {
    const parts = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
    const ends = [parts(from), parts(to)];
    return "#" + ends[0].map((low, i) => Math.round(low + (ends[1][i] - low) * share).toString(16).padStart(2, "0")).join("");
  };
  const palette = (low, middle, high) =>
    Array.from({ length: 255 }, (_, i) => (i < 127 ? mixed(low, middle, i / 127) : mixed(middle, high, (i - 127) / 127)));
  const images = [image];
  if (top) images.push(views["plot-top"].model.renderers.find((each) => each.glyph.type === "Image"));
  return (shade) => {
    const colours = palette(shade("--low"), shade("--middle"), shade("--high"));
    for (const each of images) each.glyph.color_mapper.palette = colours;
  };
};
window.cobic = cobic;
