// The values of a panel: one small picture per feature, one row per class, one point per sample.
"use strict";
var cobic = window.cobic || {};

// Returns how to paint them in the colours of a theme, and how to make a file of them. A picture is drawn when it comes into sight.
cobic.strips = ({ byId, data, unpack, short, say, classOf, means }) => {
  const FONT = "12px system-ui, sans-serif", FOOT = 20, EDGE = 6, WIDEST = 66;  // pixels: below and beside the rows
  const { features, classes, strips } = data, count = strips.samples.length;
  const values = unpack(strips.values, Float32Array), labels = unpack(strips.labels, Int16Array);
  const row = classes.length > 4 ? 16 : 22, height = row * classes.length + FOOT;
  const shades = {}, ruler = document.createElement("canvas").getContext("2d");
  ruler.font = FONT;
  const NAME = Math.min(WIDEST, Math.max(...classes.map(({ name }) => ruler.measureText(name.slice(0, 40)).width)) + 2 * EDGE);
  const make = (tag, name, parent) => {
    const element = parent.appendChild(document.createElement(tag));
    element.className = name;
    return element;
  };

  // Ticks at round numbers: as many as have room beside each other.
  const ticksOf = (low, high, most) => {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((each) => each * power >= rough * 0.999);
    const ticks = [];
    for (let place = Math.ceil(low / step - 1e-9); place * step <= high + 1e-9 * step; place++) ticks.push(Number((place * step).toPrecision(10)));
    return ticks;
  };
  const clipped = (pen, text, width) => {
    if (pen.measureText(text).width <= width) return text;
    let length = Math.min(text.length, 40);
    const cut = () => `${text.slice(0, length)}…${text.slice(-2)}`;  // names often differ at their ends
    while (length > 1 && pen.measureText(cut()).width > width) length--;
    return cut();
  };

  class Strip {
    constructor(place) {
      this.place = place;
      this.values = values.subarray(place * count, (place + 1) * count);
      const around = [...this.values].concat(means.map((mean) => mean[strips.features[place]]));
      let low = Math.min(...around), high = Math.max(...around);
      if (!(high > low)) [low, high] = [low - Math.max(1, Math.abs(low)) / 2, high + Math.max(1, Math.abs(high)) / 2];
      Object.assign(this, { low, high });
      this.frame = make("figure", "strip", byId("strips"));
      const caption = make("figcaption", "", this.frame), feature = strips.features[place];
      make("i", "dot", caption).style.background = classes[classOf[feature]].colour;
      const name = make("span", "", caption);
      name.textContent = name.title = features.name[feature];
      make("b", "", caption).textContent = strips.leads[place];
      this.canvas = make("canvas", "", this.frame);
      this.canvas.style.height = `${height}px`;
      this.canvas.addEventListener("mousemove", (event) => this.tell(event.offsetX, event.offsetY));
      this.canvas.addEventListener("mouseleave", () => say("strips", ""));
    }

    across(value) {
      return NAME + EDGE + ((value - this.low) / (this.high - this.low)) * (this.width - NAME - 2 * EDGE);
    }

    // Points of a row lie side by side, the same way each time.
    down(sample) {
      return row * (labels[sample] + 0.5) + (((sample * 0.618034) % 1) - 0.5) * row * 0.56;
    }

    draw() {
      const ratio = window.devicePixelRatio || 1;
      this.width = this.frame.clientWidth;
      this.canvas.width = this.width * ratio;
      this.canvas.height = height * ratio;
      const pen = this.canvas.getContext("2d");
      pen.scale(ratio, ratio);
      this.paint(pen);
      this.drawn = true;
    }

    paint(pen) {
      pen.font = FONT;
      pen.textBaseline = "middle";
      pen.fillStyle = shades.quiet;
      classes.forEach((cls, index) => pen.fillText(clipped(pen, cls.name, NAME - EDGE), 0, row * (index + 0.5)));
      this.drawAxis(pen);
      for (let sample = 0; sample < count; sample++) {
        pen.fillStyle = classes[labels[sample]].colour;
        pen.globalAlpha = count > 400 ? 0.4 : 0.7;
        pen.beginPath();
        pen.arc(this.across(this.values[sample]), this.down(sample), count > 400 ? 1.6 : 2.6, 0, 2 * Math.PI);
        pen.fill();
      }
      pen.globalAlpha = 1;
      pen.fillStyle = shades.ink;
      classes.forEach((_, index) => pen.fillRect(this.across(means[index][strips.features[this.place]]) - 1, row * index + 2, 2, row - 4));
    }

    drawAxis(pen) {
      const most = Math.max(1, Math.floor((this.width - NAME) / 56));
      pen.fillStyle = shades.line;
      pen.fillRect(NAME + EDGE, row * classes.length + 1, this.width - NAME - 2 * EDGE, 1);
      pen.textAlign = "center";
      for (const tick of ticksOf(this.low, this.high, most)) {
        const at = this.across(tick);
        pen.fillStyle = shades.line;
        pen.fillRect(at - 0.5, 0, 1, row * classes.length + 1);
        pen.fillStyle = shades.quiet;
        const half = pen.measureText(short(tick)).width / 2;
        pen.fillText(short(tick), Math.min(Math.max(at, NAME + half), this.width - half), height - FOOT / 2 + 2);
      }
      pen.textAlign = "left";
    }

    tell(x, y) {
      let best = -1, nearest = 200;  // within 14 pixels
      for (let sample = 0; sample < count; sample++) {
        const distance = (this.across(this.values[sample]) - x) ** 2 + (this.down(sample) - y) ** 2;
        if (distance < nearest) [best, nearest] = [sample, distance];
      }
      const name = features.name[strips.features[this.place]];
      say("strips", best < 0 ? "" : `${name} — ${strips.samples[best]} · ${classes[labels[best]].name} · ${short(this.values[best])}`);
    }
  }

  const all = strips.features.map((_, place) => new Strip(place)), of = new Map(all.map((each) => [each.frame, each]));
  byId("strips").classList.toggle("many", all.length > 40);  // in a window of their own
  const inSight = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (isIntersecting && !of.get(target).drawn) of.get(target).draw();
  }, { rootMargin: "300px" });
  new ResizeObserver(() => again()).observe(byId("strips"));
  const again = () => {
    inSight.disconnect();
    for (const each of all) {
      each.drawn = false;
      inSight.observe(each.frame);
    }
  };
  // All of them in one picture, three in a row: as a file.
  const ACROSS = 3, WIDE = 320, GAP = 24, HEAD = 24;  // pixels
  const picture = (kind) => {
    const layer = new (Bokeh.require("core/util/canvas").CanvasLayer)(kind === "png" ? "canvas" : "svg", true);
    const down = Math.ceil(all.length / ACROSS), step = height + HEAD + GAP;
    layer.resize(Math.min(ACROSS, all.length) * (WIDE + GAP) + GAP, down * step + GAP);
    const pen = layer.ctx;
    pen.scale(layer.pixel_ratio, layer.pixel_ratio);
    pen.fillStyle = shades.paper;
    pen.fillRect(0, 0, layer.bbox.width, layer.bbox.height);
    all.forEach((strip, place) => {
      pen.save();
      pen.translate(GAP + (place % ACROSS) * (WIDE + GAP), GAP + Math.floor(place / ACROSS) * step);
      pen.font = FONT;
      pen.textBaseline = "middle";
      pen.fillStyle = shades.ink;
      pen.fillText(clipped(pen, features.name[strips.features[strip.place]], WIDE - 2 * WIDEST), 0, HEAD / 3);
      pen.fillStyle = shades.quiet;
      pen.fillText(strips.leads[strip.place], WIDE - WIDEST, HEAD / 3);
      pen.translate(0, HEAD);
      strip.width = WIDE;
      strip.paint(pen);
      pen.restore();
    });
    again();
    return layer.to_blob();
  };
  const painter = (shade, atOnce) => {
    Object.assign(shades, { ink: shade("--ink"), quiet: shade("--quiet"), line: shade("--line"), paper: shade("--paper") });
    if (atOnce) for (const each of all) each.draw(); else again();
  };
  return { painter, picture };
};
window.cobic = cobic;
