#!/usr/bin/env node
// A checker for certificates of cobic, written from docs/certificate.md alone; R1 to R18 are its rules.
// Whole numbers (BigInt) and rationals; nothing is rounded but what R4 rounds. For node 18 and later, without packages.
//
//     node cobic-check.js CERTIFICATE.json TABLE.csv
//
// TABLE has a line for each sample: the index of its class in "classes", and its raw values, with commas between them.
// Exit code 0: it holds; 4: it does not; 2: there is nothing to check.
"use strict";
const fs = require("fs");
const { createHash } = require("crypto");

class Fault extends Error {}
const need = (holds, rule) => { if (!holds) throw new Fault(rule); };

// Rationals [numerator, denominator > 0]

const gcd = (a, b) => { if (a < 0n) a = -a; while (b) [a, b] = [b, a % b]; return a; };
const lcm = (a, b) => a / gcd(a, b) * b;
const ratio = (n, d = 1n) => {
  if (d < 0n) [n, d] = [-n, -d];
  const g = d === 1n ? 1n : gcd(n, d);
  return [n / g, d / g];
};
const ZERO = [0n, 1n], ONE = [1n, 1n];
const add = (a, b) => ratio(a[0] * b[1] + b[0] * a[1], a[1] * b[1]);
const sub = (a, b) => ratio(a[0] * b[1] - b[0] * a[1], a[1] * b[1]);
const mul = (a, b) => ratio(a[0] * b[0], a[1] * b[1]);
const div = (a, b) => ratio(a[0] * b[1], a[1] * b[0]);
const less = (a, b) => a[0] * b[1] < b[0] * a[1];
const most = (a, b) => (less(a, b) ? b : a);
const least = (a, b) => (less(a, b) ? a : b);
const big = (n) => ratio(BigInt(n));
const power = (e) => (e < 0 ? [1n, 1n << BigInt(-e)] : [1n << BigInt(e), 1n]);
const floor = ([n, d]) => (n < 0n && n % d ? n / d - 1n : n / d);
const sum = (list) => list.reduce(add, ZERO);

// Floating-point numbers taken apart: x = sign · mantissa · 2^exponent

const f64 = new Float64Array(1), u32 = new Uint32Array(f64.buffer);
function parts(x) {
  f64[0] = x;
  const e = (u32[1] >>> 20) & 0x7ff, m = (u32[1] & 0xfffff) * 4294967296 + u32[0];
  return [u32[1] >>> 31 ? -1 : 1, e ? m + 4503599627370496 : m, (e || 1) - 1075];
}
function exact(x) {
  if (typeof x === "bigint") return [x, 1n];
  const [s, m, e] = parts(x);
  return mul([BigInt(s * m), 1n], power(e));
}
function lowest(x) { // exponent of the lowest bit that is set
  let [, m, e] = parts(x);
  while (m % 4294967296 === 0) { m /= 4294967296; e += 32; }
  while (m % 2 === 0) { m /= 2; e += 1; }
  return e;
}

// R1, R2: JSON, read so that whole numbers stay whole (bigint) and no key is lost, and written again

function parse(text) {
  let at = 0;
  const bad = () => { throw new Fault("R1: this is no JSON"); };
  const space = () => { while (" \t\n\r".includes(text[at]) && at < text.length) at++; };
  const take = (c) => { space(); if (text[at] !== c) bad(); at++; };
  const peek = () => { space(); return text[at]; };
  const numeral = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
  const quoted = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
  const match = (pattern) => { pattern.lastIndex = at; const m = pattern.exec(text); if (!m) bad(); at += m[0].length; return m; };
  const string = () => { space(); return JSON.parse(match(quoted)[0]); };
  function value() {
    const c = peek();
    if (c === "{") {
      const found = Object.create(null);
      at++;
      if (peek() === "}") { at++; return found; }
      for (;;) {
        const key = string();
        take(":");
        need(!(key in found), `R1: the key ${key} is there twice`);
        found[key] = value();
        if (peek() !== ",") break;
        at++;
      }
      take("}");
      return found;
    }
    if (c === "[") {
      const found = [];
      at++;
      if (peek() === "]") { at++; return found; }
      for (;;) { found.push(value()); if (peek() !== ",") break; at++; }
      take("]");
      return found;
    }
    if (c === '"') return string();
    for (const [word, meant] of [["true", true], ["false", false], ["null", null]]) {
      if (text.startsWith(word, at)) { at += word.length; return meant; }
    }
    const [token, fraction, exponent] = match(numeral);
    if (fraction === undefined && exponent === undefined) return BigInt(token);
    need(Number.isFinite(Number(token)), "R1: a number that is not finite");
    return Number(token);
  }
  const found = value();
  if (peek() !== undefined) bad();
  return found;
}
function decimal(x) {
  if (x === 0) return Object.is(x, -0) ? "-0.0" : "0.0";
  const [, sign, digits, e] = /^(-?)([0-9.]+)e([-+][0-9]+)$/.exec(x.toExponential());
  const all = digits.replace(".", ""), point = Number(e) + 1;
  if (point <= -4 || point > 16) return `${sign}${digits}e${e[0]}${e.slice(1).padStart(2, "0")}`;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${all}`;
  return `${sign}${all.slice(0, point).padEnd(point, "0")}.${all.slice(point) || "0"}`;
}
const hex = (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
const SHORT = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" };
const quote = (s) => `"${s.replace(/["\\]|[^ -~]/g, (c) => SHORT[c] || hex(c))}"`;
function written(x) {
  if (typeof x === "bigint" || typeof x === "boolean" || x === null) return String(x);
  if (typeof x === "number") return decimal(x);
  if (typeof x === "string") return quote(x);
  if (Array.isArray(x)) return `[${x.map(written).join(",")}]`;
  return `{${Object.keys(x).sort().map((key) => `${quote(key)}:${written(x[key])}`).join(",")}}`;
}
const isNumber = (x) => typeof x === "number" || typeof x === "bigint";
const isObject = (x) => x !== null && typeof x === "object" && !Array.isArray(x);
const keys = (x, wanted, rule) => need(isObject(x) && Object.keys(x).sort().join() === [...wanted].sort().join(), rule);
function whole(x, low, high, rule) { // low ≤ x < high
  need(typeof x === "bigint" && x >= BigInt(low) && x < BigInt(high), rule);
  return Number(x);
}
function number(x, low = null) {
  need(isNumber(x) && (low === null || x >= low), "R1: not a number, or out of range");
  return exact(x);
}
function indices(x, size) {
  need(Array.isArray(x), "R1: no list");
  const found = x.map((i) => whole(i, 0, size, "R1: an index"));
  need(new Set(found).size === found.length, "R1: an index is there twice");
  return found;
}
function vector(x, size, low) {
  need(!Array.isArray(x) || x.length === size, "R5: not one number per sample");
  return Array.isArray(x) ? x.map((each) => number(each, low)) : Array(size).fill(number(x, low));
}
function disjoint(x, size, outside) {
  need(Array.isArray(x), "R5: groups");
  const found = x.map((group) => indices(group, size)), flat = found.flat();
  need(found.every((g) => g.length > 1) && new Set(flat).size === flat.length && !flat.some((i) => outside.has(i)), "R5: groups");
  return found;
}

// R4: transforms

function even(x) { // the nearest whole number, of two the even one
  const f = Math.floor(x), d = x - f;
  return d < 0.5 || (d === 0.5 && f % 2 === 0) ? f : f + 1;
}
const LN2 = {};
function ln2(bits) { // Σ 1 / (k 2^k), in units of 2^-bits, to about the last ten bits
  if (!(bits in LN2)) {
    LN2[bits] = 0n;
    for (let k = 1n; k <= bits; k++) LN2[bits] += (1n << BigInt(bits)) / (k << k);
  }
  return LN2[bits];
}
function log2steps([n, d], natural) { // log2 or ln of n/d ≥ 1/2^1100, in multiples of 2^-24, rounded to nearest
  if (n === d) return 0;
  for (const more of [40, 120, 360]) { // bits beyond the step, until they tell to which side it is nearer
    const bits = more + 24, fixed = BigInt(2 * bits + 40);
    let e = n.toString(2).length - d.toString(2).length;
    if (e >= 0 ? n < d << BigInt(e) : n << BigInt(-e) < d) e--;
    let f = e >= 0 ? (n << fixed) / (d << BigInt(e)) : ((n << BigInt(-e)) << fixed) / d;
    if (f === 1n << fixed && !natural) return e * 16777216;
    let found = BigInt(e);
    for (let t = 0; t < bits; t++) {
      f = (f * f) >> fixed;
      found <<= 1n;
      if (f >> (fixed + 1n)) { found |= 1n; f >>= 1n; }
    }
    if (natural) found = (found * ln2(bits + 64)) >> BigInt(bits + 64);
    const half = 1n << BigInt(more - 1), rest = found & (2n * half - 1n), off = rest > half ? rest - half : half - rest;
    if (off > 1n << 16n) return Number((found >> BigInt(more)) + (rest > half ? 1n : 0n));
  }
  throw new Fault("R4: a logarithm is too close to the middle of two steps");
}
function transformed(rows, how) {
  const n = rows.length, m = rows[0].length;
  if (how === undefined) return rows;
  keys(how, ["name", "floor"], "R1: keys of the transform");
  const result = rows.map(() => new Float64Array(m));
  if (how.name === "standardise") {
    need(how.floor === null, "R4: a floor");
    for (let i = 0; i < m; i++) {
      let peak = 0, total = 0, squares = 0;
      for (const row of rows) peak = Math.max(peak, Math.abs(row[i]));
      const [, mantissa, e] = parts(peak);
      const p = peak === 0 ? 0 : Math.min(1000, Math.max(-1000, e + mantissa.toString(2).length));
      f64[0] = 0; u32[1] = (1023 - p) << 20; u32[0] = 0;
      const u = f64[0], first = rows[0][i] * u;
      for (const row of rows) total += row[i] * u - first;
      const centre = first + total / n;
      for (const row of rows) { const z = row[i] * u - centre; squares += z * z; }
      const middle = centre / u, scale = Math.sqrt(squares / n) / u;
      for (let j = 0; j < n; j++) {
        const z = scale > 0 ? (rows[j][i] - middle) / scale : 0;
        result[j][i] = Math.fround(Math.abs(z) < 268435456 ? even(z * 16777216) / 16777216 : z) + 0;
      }
    }
  } else {
    const natural = how.name === "log1p", known = new Map();
    need(natural || how.name === "log2", "R4: a transform that is not known");
    const low = how.floor === null ? -Infinity : Number(how.floor);
    need(how.floor === null || (isNumber(how.floor) && (natural ? low >= 0 : low > 0)), "R4: a floor");
    for (let j = 0; j < n; j++) for (let i = 0; i < m; i++) {
      const x = Math.max(rows[j][i], low);
      if (!known.has(x)) {
        need(natural ? x >= 0 : x > 0, "R4: a value that has no logarithm");
        const steps = natural && x < 2 ** -26 ? 0 : log2steps(natural ? add(ONE, exact(x)) : exact(x), natural);
        known.set(x, Math.fround(steps / 16777216) + 0);
      }
      result[j][i] = known.get(x);
    }
  }
  need(result.every((row) => row.every(Number.isFinite)), "R4: a value that has no transform");
  return result;
}

const FREE = 0, IN = 1, OUT = 2;

class Check {
  constructor(certificate, labels, rows) {
    const c = this.c = certificate;
    need(isObject(c) && c.format === "cobic-certificate" && c.version === 2n, "R1: format or version");
    need(isObject(c.problem), "R1: problem");
    const asked = c.problem, panel = this.panel = "panel" in asked ? asked.panel : null;
    need(Array.isArray(c.selected), "R1: selected");
    this.offset = panel !== null && panel.offset === true;
    keys(c, ["format", "version", "data", "problem", "selected", "upper_bound", "objective_bound", "multipliers", "slopes", "tree",
      "checksum", ...(this.offset && c.selected.length ? ["offsets", "tail_margin"] : [])], "R1: keys");
    keys(asked, ["alpha", "beta", "ties", "beta_rule", "slack_penalty", "required", "excluded", "groups",
      ...["transform", "panel"].filter((key) => key in asked)], "R1: keys of the problem");
    this.n = rows.length;
    this.m = rows[0].length;
    this.labels = labels;
    this.identity(rows);
    this.numbers(transformed(rows, asked.transform));
    this.statement(asked);
    this.featureClasses(asked);
    this.panelStatement(asked);
    this.readMultipliers();
  }

  identity(rows) { // R2, R3
    const { checksum, ...body } = this.c, { data } = this.c;
    need(checksum === createHash("sha256").update(written(body)).digest("hex"), "R2: the checksum");
    keys(data, ["n_samples", "n_features", "classes", "sha256"], "R1: keys of the data");
    const digest = createHash("sha256"), bytes = Buffer.alloc(8 * this.m), last = Buffer.alloc(8 * this.n);
    for (const row of rows) {
      row.forEach((x, i) => bytes.writeDoubleLE(x + 0, 8 * i));
      digest.update(bytes);
    }
    this.labels.forEach((label, j) => last.writeBigInt64LE(BigInt(label), 8 * j));
    digest.update(last);
    const names = data.classes;
    need(Array.isArray(names) && names.every((name) => typeof name === "string"), "R3: classes");
    this.k = names.length;
    const fits = data.n_samples === BigInt(this.n) && data.n_features === BigInt(this.m) && data.sha256 === digest.digest("hex");
    need(fits, "R3: the data are not those of the certificate");
    this.ofClass = names.map((_, r) => [...this.labels.keys()].filter((j) => this.labels[j] === r));
    need(this.k > 1 && new Set(names).size === this.k && this.ofClass.every((mine) => mine.length), "R3: the classes");
    need(this.labels.every((r) => r < this.k), "R3: the classes");
  }

  numbers(rows) { // a_ij = this.at(j, i) · this.unit
    let e = 1100;
    for (const row of rows) for (const x of row) if (x !== 0) e = Math.min(e, lowest(x));
    this.exponent = e === 1100 ? 0 : e;
    this.unit = power(this.exponent);
    this.scale = Math.abs(this.exponent) < 1000 ? 2 ** -this.exponent : NaN; // a power of two: exact, if in range
    this.values = rows;
  }

  at(j, i) {
    const x = this.values[j][i], y = x * this.scale;
    if (Number.isSafeInteger(y)) return BigInt(y);
    const [s, m, e] = parts(x), shift = e - this.exponent;
    return shift < 0 ? BigInt(s) * (BigInt(m) >> BigInt(-shift)) : BigInt(s * m) << BigInt(shift);
  }

  statement(asked) { // R5, R7
    this.alpha = vector(asked.alpha, this.n, 0);
    const beta = vector(asked.beta, this.n, 1), above = beta.some((b) => less(ONE, b));
    need(["first", "exclude"].includes(asked.ties), "R5: ties");
    need(["published", "sign-aware"].includes(asked.beta_rule), "R5: beta_rule");
    need(!this.offset || !above, "R5: offsets with beta above 1");
    this.price = asked.slack_penalty === null ? null : number(asked.slack_penalty);
    need(this.price === null || this.price[0] > 0n, "R5: slack_penalty");
    const twice = asked.beta_rule === "sign-aware" && above;
    this.rows = this.labels.map((own, j) => {
      const others = [...Array(this.k).keys()].filter((q) => q !== own), first = others.map((q) => [q, beta[j]]);
      return twice ? first.concat(others.map((q) => [q, div(ONE, beta[j])])) : first;
    });
    this.per = this.rows[0].length;
  }

  featureClasses(asked) { // R5, R6
    const common = this.ofClass.reduce((a, mine) => lcm(a, BigInt(mine.length)), 1n);
    const each = this.ofClass.map((mine) => common / BigInt(mine.length)), tied = [];
    this.cls = [];
    for (let i = 0; i < this.m; i++) {
      const means = this.ofClass.map((mine, r) => each[r] * mine.reduce((a, j) => a + this.at(j, i), 0n));
      const best = means.reduce((a, b) => (b > a ? b : a));
      this.cls.push(means.indexOf(best));
      if (means.filter((mean) => mean === best).length > 1) tied.push(i);
    }
    this.required = indices(asked.required, this.m);
    this.excluded = new Set(indices(asked.excluded, this.m));
    need(asked.ties === "first" || tied.every((i) => this.excluded.has(i)), "R6: a tied feature is not excluded");
    need(!this.required.some((i) => this.excluded.has(i)), "R5: a feature is required and excluded");
    this.selectable = [...Array(this.m).keys()].filter((i) => !this.excluded.has(i));
    this.members = this.ofClass.map((_, r) => this.selectable.filter((i) => this.cls[i] === r));
    this.settled = new Set([...this.excluded, ...this.required]);
    this.groups = disjoint(asked.groups, this.m, this.settled);
    this.parts = this.groups.flatMap((g) => this.members.map((_, r) => g.filter((i) => this.cls[i] === r))).filter((p) => p.length > 1);
  }

  panelStatement(asked) { // R5, R9, R11
    const p = this.panel;
    this.group = new Map();
    this.low = this.members.map((_, r) => Math.max(1, this.required.filter((i) => this.cls[i] === r).length));
    this.high = this.members.map((mine) => mine.length);
    this.caps = null;
    this.widest = ZERO;
    if (p === null) return;
    keys(p, ["total", "counts", "tail", "weights", "offset", "groups", ...(isObject(p) && "split" in p ? ["split"] : [])], "R1: keys of the panel");
    need(!("split" in p) || p.split === "even", "R5: split");
    need(typeof p.offset === "boolean", "R5: offset");
    need(this.alpha.every((a) => a[0] === 0n) && this.price === null && !this.groups.length, "R5: alpha, price or groups of a panel");
    need(typeof p.total === "bigint", "R5: total");
    this.mates = disjoint(p.groups, this.m, this.settled);
    this.mates.forEach((g, number) => g.forEach((i) => this.group.set(i, number)));
    this.high = this.members.map((mine) => this.ways(mine));
    if (p.counts !== null) {
      need(!("split" in p) && Array.isArray(p.counts) && p.counts.length === this.k, "R5: counts");
      this.low = this.high = p.counts.map((n) => whole(n, 1, 2 ** 53, "R5: counts"));
      need(BigInt(this.low.reduce((a, b) => a + b)) === p.total, "R5: counts");
    } else if ("split" in p) {
      const clip = (d) => this.low.map((l, r) => Math.min(Math.max(d, l), this.high[r]));
      let d = 0;
      while (d < Math.max(...this.high) && BigInt(clip(d + 1).reduce((a, b) => a + b)) <= p.total) d++;
      [this.low, this.high] = [clip(d), clip(d + 1)];
    }
    const named = { equal: () => ONE, balanced: (j) => ratio(1n, BigInt(this.ofClass[this.labels[j]].length)) };
    need(typeof p.weights !== "string" || p.weights in named, "R5: weights");
    const weights = typeof p.weights === "string" ? this.labels.map((_, j) => named[p.weights](j)) : vector(p.weights, this.n, 0);
    const tail = number(p.tail, 0), all = mul(tail, sum(weights));
    need(!less(ONE, tail) && weights.some((w) => w[0]), "R5: tail or weights");
    if (tail[0]) this.caps = weights.map((w) => div(w, all));
    this.largest = this.rows.map((rows, j) => {
      const peak = this.selectable.reduce((a, i) => { const x = this.at(j, i), y = x < 0n ? -x : x; return y > a ? y : a; }, 0n);
      return mul([peak, 1n], add(ONE, rows.map((row) => row[1]).reduce(most)));
    }).reduce(most);
    this.largest = mul(this.largest, this.unit);
    if (this.offset) this.widest = mul(big(2 * this.k), this.largest);
  }

  ways(features) { return this.group.size ? new Set(features.map((i) => this.group.get(i) ?? -1 - i)).size : features.length; }

  readMultipliers() { // R13
    const { multipliers, slopes } = this.c;
    need(Array.isArray(multipliers) && Array.isArray(slopes) && slopes.length === multipliers.length, "R13: slopes");
    this.slopes = slopes.map((s) => { const x = number(s); need(less(mul(x, x), [10n ** 600n, 1n]), "R13: a slope"); return x; });
    this.vectors = multipliers.map((pairs) => {
      need(Array.isArray(pairs) && (pairs.length || this.price), "R13: no multipliers");
      const spent = new Map(), balance = Array(this.k).fill(0n);
      let before = -1;
      const read = pairs.map((pair) => {
        need(Array.isArray(pair) && pair.length === 2, "R13: no pair");
        const row = whole(pair[0], before + 1, this.n * this.per, "R13: a row"), j = Math.floor(row / this.per), value = pair[1];
        whole(value, 1, 2n ** 53n + 1n, "R13: a value");
        before = row;
        spent.set(j, (spent.get(j) ?? 0n) + value);
        balance[this.labels[j]] += value;
        balance[this.rows[j][row % this.per][0]] -= value;
        return [j, row % this.per, value];
      });
      if (this.price) for (const each of spent.values()) need(each <= 1n << 30n, "R13: multipliers above the price");
      need(!this.offset || balance.every((each) => !each), "R13: multipliers that are not balanced");
      return { read, spent };
    });
  }

  // R7, R8: null of a selection that is not sought

  allowed(selected) {
    const chosen = new Set(selected), counts = this.members.map((_, r) => selected.filter((i) => this.cls[i] === r).length);
    const inside = this.required.every((i) => chosen.has(i)) && selected.every((i) => !this.excluded.has(i)) && counts.every((n) => n);
    if (!inside || !this.groups.every((g) => [0, g.length].includes(g.filter((i) => chosen.has(i)).length))) return false;
    if (this.panel === null) return true;
    const right = counts.every((n, r) => this.low[r] <= n && n <= this.high[r]) && BigInt(selected.length) === this.panel.total;
    return right && this.ways(selected) === selected.length;
  }

  worth(selected, offsets) {
    if (!this.allowed(selected)) return null;
    const held = this.members.map((_, r) => selected.filter((i) => this.cls[i] === r));
    const worst = this.labels.map((own, j) => {
      const means = held.map((mine) => mul(ratio(mine.reduce((a, i) => a + this.at(j, i), 0n), BigInt(mine.length)), this.unit));
      return this.rows[j].map(([q, factor]) => {
        const margin = sub(sub(means[own], mul(factor, means[q])), this.alpha[j]);
        return offsets ? add(margin, sub(offsets[own], offsets[q])) : margin;
      }).reduce(least);
    });
    if (this.panel === null) {
      if (!this.price) return worst.every((margin) => margin[0] > 0n) ? big(selected.length) : null;
      return sub(big(selected.length), mul(this.price, sum(worst.map((margin) => most(ZERO, sub(ZERO, margin))))));
    }
    if (!this.caps) return worst.reduce(least);
    const order = [...worst.keys()].sort((a, b) => (less(worst[a], worst[b]) ? -1 : less(worst[b], worst[a]) ? 1 : 0));
    let left = ONE, found = ZERO;
    for (const j of order) {
      const share = least(left, this.caps[j]);
      found = add(found, mul(share, worst[j]));
      left = sub(left, share);
    }
    return found;
  }

  run() { // R9, R10
    const { c } = this, bound = this.bound = number(c.objective_bound), selected = indices(c.selected, this.m);
    need(typeof c.upper_bound === "bigint" && c.upper_bound >= 0n && Array.isArray(c.tree), "R1: upper_bound or tree");
    const U = c.upper_bound, hard = this.panel === null && !this.price;
    let value = null, offsets = null;
    if (this.offset && selected.length) {
      need(Array.isArray(c.offsets), "R9: offsets");
      offsets = vector(c.offsets, this.k, null);
      const spread = sub(offsets.reduce(most), offsets.reduce(least));
      need(offsets[0][0] === 0n && !less(this.widest, spread), "R9: offsets");
    }
    if (selected.length) {
      value = this.worth(selected, offsets);
      need(value !== null && !less(bound, value), "R9: the selection is not what is sought, or exceeds the bound");
    }
    if (offsets) {
      const near = mul(mul(big(this.m + this.n + 8), add(this.largest, this.widest)), power(-50));
      const off = sub(number(c.tail_margin), value), size = most(off, sub(ZERO, off));
      need(!less(add(near, power(-1000)), size), "R9: tail_margin");
    }
    this.next = 0;
    this.kept = new Map();
    const all = this.selectable.length;
    if (this.panel) {
      need(U === this.panel.total, "R9: upper_bound");
      this.walk(Number(U), false, false);
    } else if (!this.members.every((mine) => mine.length)) {
      need(!less(bound, [U, 1n]) && !less([U, 1n], bound) && !selected.length, "R9: a class has no features");
      return [value, bound];
    } else if (this.price) {
      need(U === BigInt(all), "R9: upper_bound");
      const from = floor(bound) + 1n;
      if (less(bound, [U, 1n])) this.walk(from > 0n ? Number(from) : 0, true, false);
    } else {
      need(hard && !less(bound, [U, 1n]) && !less([U, 1n], bound), "R9: objective_bound");
      let T = U < BigInt(all) ? Math.max(Number(U) + 1, this.low.reduce((a, b) => a + b)) : all + 1;
      for (let settled = false; !settled && T <= all; T++) {
        const first = c.tree[this.next];
        settled = Array.isArray(first) && first.length === 1 && first[0] === "or more";
        if (settled) this.next++;
        this.walk(T, settled && this.required.length > 0, settled);
      }
    }
    need(this.next === c.tree.length, "R10: the tree goes on after its end");
    return [value, bound];
  }

  // R11: features are decided in place, and what is decided is taken back

  walk(T, above, larger) {
    this.T = T;
    this.status = new Uint8Array(this.m).fill(OUT);
    for (const i of this.selectable) this.status[i] = FREE;
    this.trail = [];
    this.nIn = Array(this.k).fill(0);
    const waiting = [[0, false, this.low, this.high, this.required.map((i) => [i, IN])]];
    while (waiting.length) {
      const [mark, isVoid, low, high, decided] = waiting.pop();
      this.isVoid = isVoid;
      while (this.trail.length > mark) {
        const i = this.trail.pop();
        if (this.status[i] === IN) this.nIn[this.cls[i]]--;
        this.status[i] = FREE;
      }
      for (const [i, value] of decided) this.decide(i, value);
      const lows = low.reduce((a, b) => a + b), highs = high.reduce((a, b) => a + b);
      this.l = low.map((l, r) => Math.max(l, T - highs + high[r]));
      this.h = above ? [...high] : high.map((h, r) => Math.min(h, T - lows + low[r]));
      this.reach = this.members.map((mine, r) => {
        const free = this.ways(mine.filter((i) => this.status[i] === FREE));
        return [Math.max(this.l[r], this.nIn[r]), Math.min(this.h[r], this.nIn[r] + free)];
      });
      if (this.reach.some(([from, to]) => from > to)) this.isVoid = true;
      const token = this.c.tree[this.next++];
      need(Array.isArray(token) && token.length, "R11: the tree ends too early");
      need(!larger || ["count", "cut", "empty"].includes(token[0]), "R10: a tree for larger totals decides on features");
      for (const child of this.children(token).reverse()) waiting.push([this.trail.length, ...child]);
    }
  }

  decide(i, value) {
    if (this.status[i] !== FREE) {
      if (this.status[i] !== value) this.isVoid = true;
      return;
    }
    this.status[i] = value;
    this.trail.push(i);
    if (value === IN) {
      this.nIn[this.cls[i]]++;
      if (this.group.has(i)) for (const mate of this.mates[this.group.get(i)]) if (mate !== i) this.decide(mate, OUT);
    }
  }

  children([kind, ...given]) { // R12
    const sizes = { cut: [this.vectors.length], fix: [this.vectors.length], feature: [this.m], count: [this.k, Infinity], empty: [], selection: [], all: [] };
    need(typeof kind === "string" && Object.hasOwn(sizes, kind) && given.length === sizes[kind].length, "R12: a token");
    const [first, c] = given.map((x, at) => {
      need(typeof x === "bigint" && x >= 0n && (sizes[kind][at] === Infinity || x < BigInt(sizes[kind][at])), "R12: a token");
      return Number(x);
    });
    const box = [this.l, this.h], settled = this.l.every((l, r) => l === this.h[r]);
    if (kind === "count") {
      const left = [...this.h], right = [...this.l];
      left[first] = Math.min(left[first], c);
      right[first] = Math.max(right[first], c + 1);
      return [[this.isVoid, this.l, left, []], [this.isVoid, right, this.h, []]];
    }
    if (kind === "feature") return [OUT, IN].map((value) => [this.isVoid, ...box, [[first, value]]]);
    if (kind === "fix") {
      need(!this.price && (this.isVoid || settled), "R12: fix");
      const decided = this.isVoid ? null : this.forced(first);
      return [[decided === null, ...box, decided ?? []]];
    }
    need(this.isVoid || kind !== "empty", "R12: a node that is called empty is not");
    if (this.isVoid) return [];
    if (kind === "cut") this.excluded_(first);
    if (kind === "selection") this.one(settled);
    if (kind === "all") this.all(settled);
    return [];
  }

  scores(t) { // R14: of the features that are not out; of all, and kept, if these are many
    const live = this.members.map((mine) => mine.filter((i) => this.status[i] !== OUT));
    const some = !this.parts.length && 4 * live.reduce((a, mine) => a + mine.length, 0) < this.selectable.length;
    if (!some && this.kept.has(t)) return this.kept.get(t);
    const { read, spent } = this.vectors[t], pull = new Map();
    for (const [j, at, value] of read) {
      const [q, factor] = this.rows[j][at], own = this.labels[j];
      if (!pull.has(j)) pull.set(j, Array(this.k).fill(ZERO));
      const weights = pull.get(j);
      weights[own] = add(weights[own], [value, 1n]);
      weights[q] = sub(weights[q], mul([value, 1n], factor));
    }
    let common = 1n, pieces = 1n;
    for (const weights of pull.values()) for (const w of weights) common = lcm(common, w[1]);
    for (const part of this.parts) pieces = lcm(pieces, BigInt(part.length));
    const e = new Map(), lists = some ? live : this.members;
    const sorted = lists.map((mine, r) => {
      const scores = Array(mine.length).fill(0n);
      for (const [j, weights] of pull) {
        const w = weights[r][0] * (common / weights[r][1]) * pieces;
        if (w) for (let x = 0; x < mine.length; x++) scores[x] += w * this.at(j, mine[x]);
      }
      mine.forEach((i, x) => e.set(i, scores[x]));
      return mine;
    });
    for (const part of this.parts) {
      const mean = part.reduce((a, i) => a + e.get(i), 0n) / BigInt(part.length);
      for (const i of part) e.set(i, mean);
    }
    const order = sorted.map((mine) => [...mine].sort((a, b) => (e.get(a) > e.get(b) ? -1 : e.get(a) < e.get(b) ? 1 : 0)));
    let charge = ZERO, total = 0n, above = ZERO;
    for (const [j, value] of spent) {
      charge = add(charge, mul([value, 1n], this.alpha[j]));
      total += value;
    }
    if (this.panel) {
      if (this.caps) for (const [j, value] of spent) above = add(above, most(ZERO, sub([value, 1n], mul([total, 1n], this.caps[j]))));
      charge = add(mul(this.bound, [total, 1n]), mul(mul([2n, 1n], add(this.largest, this.widest)), above));
    }
    const price = this.price ? mul(this.price, power(-30)) : ONE;
    const found = { e, order, unit: mul(mul(this.unit, price), [1n, common * pieces]), charge: mul(charge, price) };
    if (!some) {
      if (this.kept.size * this.m > 4000000) this.kept.clear();
      this.kept.set(t, found);
    }
    return found;
  }

  leading(features) { // the best first: of each group the best
    if (!this.group.size) return features;
    const seen = new Set();
    return features.filter((i) => { const g = this.group.get(i) ?? -1 - i, fresh = !seen.has(g); seen.add(g); return fresh; });
  }

  best(t, slope) { // R15: Σ_r max (S + T) / n − σ n, less the charge
    const { e, order, unit, charge } = this.scores(t);
    const a = unit[0] * slope[1], b = slope[0] * unit[1], scale = unit[1] * slope[1];
    let found = sub(ZERO, charge);
    order.forEach((mine, r) => {
      let total = 0n, top = null, of = 1n;
      for (const i of mine) if (this.status[i] === IN) total += e.get(i);
      const free = this.leading(mine.filter((i) => this.status[i] === FREE)), [from, to] = this.reach[r];
      for (let n = this.nIn[r]; n <= to; n++) {
        if (n > this.nIn[r]) total += e.get(free[n - this.nIn[r] - 1]);
        if (n < from) continue;
        const count = BigInt(n), value = a * total - b * count * count;
        if (top === null || value * of > top * count) [top, of] = [value, count];
      }
      found = add(found, ratio(top, of * scale));
    });
    return found;
  }

  excluded_(t) { // R15
    if (this.price) {
      need(!less(this.bound, this.best(t, [-1n, 1n])), `R15: multipliers ${t} do not exclude a node`);
      return;
    }
    const slope = this.slopes[t], T = Math.max(this.T, this.l.reduce((a, b) => a + b));
    need(this.panel || slope[0] <= 0n, "R15: a slope above 0");
    need(add(mul(slope, big(T)), this.best(t, slope))[0] <= 0n, `R15: multipliers ${t} do not exclude a node`);
  }

  forced(t) { // R16: null if V ≤ 0
    const V = this.best(t, ZERO), decided = [];
    if (V[0] <= 0n) return null;
    const { e, order, unit } = this.scores(t);
    order.forEach((mine, r) => {
      const free = mine.filter((i) => this.status[i] === FREE), leading = this.leading(free), wanted = this.l[r] - this.nIn[r];
      const chosen = new Set(leading.slice(0, wanted)), limit = div(mul(V, big(this.l[r])), unit), groups = new Map();
      const enough = (loss) => loss * limit[1] >= limit[0];
      const key = (i) => this.group.get(i) ?? -1 - i;
      for (const i of free) { if (!groups.has(key(i))) groups.set(key(i), []); groups.get(key(i)).push(i); }
      for (const i of free) {
        const own = groups.get(key(i));
        if (chosen.has(i)) {
          const instead = [...leading.slice(wanted, wanted + 1), ...own.slice(1, 2)].map((o) => e.get(o));
          if (!instead.length || enough(e.get(i) - instead.reduce((a, b) => (a > b ? a : b)))) decided.push([i, IN]);
        } else {
          const goes = chosen.has(own[0]) ? own[0] : wanted > 0 ? leading[wanted - 1] : null;
          if (goes === null || enough(e.get(goes) - e.get(i))) decided.push([i, OUT]);
        }
      }
    });
    return decided;
  }

  one(settled) { // R17
    need(settled, "R17: the counts are not settled");
    const selected = this.selectable.filter((i) => this.status[i] === IN);
    this.members.forEach((mine, r) => {
      const free = mine.filter((i) => this.status[i] === FREE), missing = this.l[r] - this.nIn[r];
      need(missing === 0 || missing === free.length, "R17: more than one selection is left");
      if (missing) selected.push(...free);
    });
    const value = this.worth(selected, null), hard = !this.panel && !this.price;
    need(value === null || (!hard && !this.offset && !less(this.bound, value)), "R17: the selection is one that is sought");
  }

  all(settled) { // R18
    const wanted = this.l.flatMap((l, r) => Array(Math.max(0, l - this.nIn[r])).fill(r));
    need(this.panel && !this.caps && (!this.offset || this.k === 2) && settled && wanted.length <= 2, "R18: not for this node");
    // Σ coefficient · (sum of j over r) > level for every case: then a panel has more than B
    let cases = this.labels.flatMap((own, j) => this.rows[j].map(([q, factor]) => ({
      own, terms: [[j, own, ratio(1n, BigInt(this.l[own]))], [j, q, div(sub(ZERO, factor), big(this.l[q]))]],
    })));
    if (this.offset) cases = cases.filter((x) => x.own === 0).flatMap((x) => cases.filter((y) => y.own === 1).map((y) => ({ terms: [...x.terms, ...y.terms] })));
    const level = div(this.offset ? mul([2n, 1n], this.bound) : this.bound, this.unit);
    const inside = this.members.map((mine) => mine.filter((i) => this.status[i] === IN));
    const sides = [0, 1].map((s) => (s < wanted.length ? this.members[wanted[s]].filter((i) => this.status[i] === FREE) : [-1]));
    const prepare = (one) => {
      if (one.sides) return one;
      const common = one.terms.reduce((a, [, , w]) => lcm(a, w[1]), 1n);
      const rest = sub(level, sum(one.terms.map(([j, r, w]) => mul(w, [inside[r].reduce((a, i) => a + this.at(j, i), 0n), 1n]))));
      one.limit = floor(mul(rest, [common, 1n]));
      one.sides = sides.map((side, s) => new Map(side.map((i) => [i, one.terms.reduce(
        (a, [j, r, w]) => (s < wanted.length && r === wanted[s] ? a + w[0] * (common / w[1]) * this.at(j, i) : a), 0n)])));
      return one;
    };
    const same = wanted.length === 2 && wanted[0] === wanted[1];
    sides[0].forEach((i, place) => {
      let left = sides[1].slice(same ? place + 1 : 0).filter((o) => !this.group.has(i) || this.group.get(i) !== this.group.get(o));
      for (let at = 0; at < cases.length && left.length; at++) {
        const { sides: [one, two], limit } = prepare(cases[at]), mine = one.get(i);
        left = left.filter((o) => mine + two.get(o) > limit);
        if (!left.length) cases.unshift(...cases.splice(at, 1));
      }
      need(!left.length, "R18: a panel that is left has more than B");
    });
  }
}

function readTable(file) {
  const labels = [], rows = [];
  for (const line of fs.readFileSync(file, "latin1").split("\n")) {
    if (!line.trim()) continue;
    const cells = line.split(",").map((cell) => (cell.trim() ? Number(cell) : NaN));
    rows.push(Float64Array.from(cells.slice(1)));
    labels.push(cells[0]);
  }
  const fine = rows.length && rows.every((row) => row.length === rows[0].length && row.every(Number.isFinite));
  if (!fine || !labels.every((r) => Number.isInteger(r) && r >= 0)) throw new Error(`${file} is not a table of class indices and numbers`);
  return [labels, rows];
}

function verdict(certificate, labels, rows) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(certificate);
    const [value, bound] = new Check(parse(text), labels, rows).run();
    const shown = (x) => (x === null ? null : Number(x[0] * 10n ** 12n / x[1]) / 1e12);
    return { ok: true, worth: shown(value), bound: shown(bound) };
  } catch (error) {
    if (error instanceof Fault) return { ok: false, reason: error.message };
    if (error instanceof RangeError || error instanceof TypeError || error instanceof SyntaxError) {
      return { ok: false, reason: `R1: a value is of the wrong kind or out of range (${error.message})` };
    }
    throw error;
  }
}

if (process.argv[2] === "--many") { // pairs of files, one verdict a line: for tests
  const names = fs.readFileSync(0, "utf8").trim().split("\n");
  for (const pair of names) {
    const [certificate, table] = pair.split("\t"), began = process.cpuUsage();
    const found = verdict(fs.readFileSync(certificate), ...readTable(table)), spent = process.cpuUsage(began);
    console.log(JSON.stringify({ certificate, ...found, seconds: (spent.user + spent.system) / 1e6 }));
  }
} else {
  if (process.argv.length !== 4) {
    console.error("usage: node cobic-check.js CERTIFICATE.json TABLE.csv");
    process.exit(2);
  }
  let certificate, table;
  try {
    certificate = fs.readFileSync(process.argv[2]);
    table = readTable(process.argv[3]);
  } catch (error) {
    console.error(`cobic-check: ${error.message}`);
    process.exit(2);
  }
  const found = verdict(certificate, ...table);
  console.log(found.ok ? `holds: selection ${found.worth ?? "none"}, none above ${found.bound}` : `does not hold: ${found.reason}`);
  process.exit(found.ok ? 0 : 4);
}
