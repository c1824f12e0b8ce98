// The table of features: only the rows in sight exist, so that tens of thousands scroll as easily as ten.
"use strict";
var cobic = window.cobic || {};

// Columns: {title, text(row), value(row), number, csv(row), width, need}; `text` is what is shown, `value` what is sorted by.
cobic.Table = class {
  static ROW = 32;
  static HEAD = 36;

  constructor(element, columns, count, matches, onChange) {
    Object.assign(this, { element, columns, count, matches, onChange, sorted: null, down: false, query: "" });
    this.head = element.appendChild(document.createElement("div"));
    this.head.className = "row head";
    this.head.setAttribute("role", "row");
    this.body = element.appendChild(document.createElement("div"));
    this.body.style.position = "relative";
    element.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.fit()).observe(element);
    this.arrange();
    this.fit();
  }

  filter(query) {
    this.query = query;
    this.arrange();
  }

  sort(column) {
    this.down = this.sorted === column ? !this.down : false;
    this.sorted = column;
    this.arrange();
    this.drawHead();
  }

  // Which rows, in which order. Rows without a value go last whichever way they are sorted.
  arrange() {
    const rows = [];
    for (let row = 0; row < this.count; row++) if (this.matches(row, this.query)) rows.push(row);
    if (this.sorted) {
      const { value, number } = this.sorted, sign = this.down ? -1 : 1;
      const keys = new Array(this.count);
      for (const row of rows) keys[row] = value(row);
      const order = number ? (a, b) => a - b : new Intl.Collator(undefined, { numeric: true }).compare;
      const none = (key) => key === "" || Number.isNaN(key);
      rows.sort((a, b) => none(keys[a]) - none(keys[b]) || (none(keys[a]) ? 0 : sign * order(keys[a], keys[b])) || a - b);
    }
    this.rows = rows;
    this.body.style.height = `${rows.length * cobic.Table.ROW}px`;
    this.element.scrollTop = 0;
    this.draw();
    if (this.visible) this.onChange(rows.length, this.columns.length - this.visible.length);
  }

  // As many columns as the window is wide for, those that are needed most.
  fit() {
    let room = this.element.clientWidth || 800;
    const needed = [...this.columns].sort((one, other) => one.need - other.need);
    const fitting = new Set(needed.filter((column) => (room -= column.width + 14) >= -14));
    this.visible = this.columns.filter((column) => fitting.has(column));
    this.grid = this.visible.map((column, place) => (place ? `minmax(${column.width}px, 1fr)` : `minmax(${column.width}px, 2fr)`)).join(" ");
    this.drawHead();
    this.draw();
    this.onChange(this.rows.length, this.columns.length - this.visible.length);
  }

  drawHead() {
    this.head.style.gridTemplateColumns = this.grid;
    this.head.replaceChildren(...this.visible.map((column) => {
      const cell = document.createElement("span"), button = document.createElement("button");
      const mark = this.sorted === column ? (this.down ? " ↓" : " ↑") : "";
      cell.setAttribute("role", "columnheader");
      cell.setAttribute("aria-sort", mark ? (this.down ? "descending" : "ascending") : "none");
      cell.className = column.number ? "n" : "";
      button.type = "button";
      button.textContent = button.title = column.title + mark;
      button.addEventListener("click", () => this.sort(column));
      cell.append(button);
      return cell;
    }));
  }

  draw() {
    if (!this.grid) return;
    const { ROW } = cobic.Table, { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 4);
    const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + 4);
    const drawn = [];
    for (let place = first; place < last; place++) {
      const row = this.rows[place], line = document.createElement("div");
      line.className = "row";
      line.setAttribute("role", "row");
      line.style.top = `${place * ROW}px`;
      line.style.gridTemplateColumns = this.grid;
      for (const column of this.visible) line.append(this.cell(column, row));
      drawn.push(line);
    }
    this.body.replaceChildren(...drawn);
  }

  cell(column, row) {
    const cell = document.createElement("span");
    cell.setAttribute("role", "cell");
    if (column.number) cell.className = "n";
    if (column.style) column.style(cell, row);
    const text = column.text(row);
    cell.append(text);
    cell.title = text;
    return cell;
  }

  // Spreadsheets run a text that begins like a formula: an apostrophe in front makes it a text again.
  csv() {
    const plain = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
    const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const line = (cells) => cells.map((cell) => quoted(String(cell))).join(",");
    const lines = this.rows.map((row) => line(this.columns.map((column) => (column.number ? column.csv(row) : plain(String(column.csv(row)))))));
    return [line(this.columns.map((column) => column.title)), ...lines].join("\n") + "\n";
  }
};
window.cobic = cobic;
