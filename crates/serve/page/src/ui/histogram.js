// A histogram with the limits of the stretch as lines that can be dragged.

import { h } from "../dom.js";

const COLOURS = ["#d0574b", "#4c9a5b", "#4b7fd0"];
const HEIGHT = 90;

export class Histogram {
  #key = "";
  #shown = null;
  #dragged = null;

  constructor(changed) {
    this.changed = changed;
    this.canvas = h("canvas", { class: "histogram", role: "img", "aria-label": "Histogram with the limits of the stretch; the fields below set them" });
    this.canvas.addEventListener("pointerdown", (event) => this.#grab(event));
    this.canvas.addEventListener("pointermove", (event) => this.#drag(event));
    this.canvas.addEventListener("pointerup", () => {
      this.#dragged = null;
    });
  }

  draw(figures, limits, inColour) {
    const key = JSON.stringify([figures.map((one) => one && [one.min, one.max, one.mean]), limits, this.canvas.clientWidth]);
    if (key === this.#key) return;
    this.#key = key;
    const known = figures.filter((one) => one?.histogram?.counts?.length);
    const ratio = devicePixelRatio || 1;
    const width = this.canvas.clientWidth || 240;
    Object.assign(this.canvas, { width: width * ratio, height: HEIGHT * ratio });
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    const ends = [...known.flatMap(({ histogram }) => [Number(histogram.from), Number(histogram.to)]), ...limits.flat()];
    const [from, to] = [Math.min(...ends), Math.max(...ends)];
    const span = to - from || 1;
    this.#shown = { from, span, width, limits };
    const at = (value) => ((value - from) / span) * (width - 2) + 1;
    const ink = getComputedStyle(this.canvas).color;
    known.forEach(({ histogram }, index) => bars(context, histogram, at, inColour ? COLOURS[index] : ink));
    limits.forEach((pair, index) => {
      context.fillStyle = inColour ? COLOURS[index] : ink;
      for (const value of pair) context.fillRect(at(value) - 1, 0, 2, HEIGHT);
    });
  }

  #value(event) {
    const { from, span, width } = this.#shown;
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    return { x, value: from + (x / width) * span };
  }

  #grab(event) {
    if (!this.#shown) return;
    const { from, span, width, limits } = this.#shown;
    const { x } = this.#value(event);
    const lines = limits.flatMap((pair, channel) => pair.map((value, end) => ({ channel, end, away: Math.abs(((value - from) / span) * width - x) })));
    lines.sort((one, other) => one.away - other.away);
    if (lines[0]?.away < 16) {
      [this.#dragged] = lines;
      this.canvas.setPointerCapture(event.pointerId);
    }
  }

  #drag(event) {
    if (!this.#dragged) return;
    const { channel, end } = this.#dragged;
    const limits = [...this.#shown.limits[channel]];
    limits[end] = this.#value(event).value;
    if (limits[0] < limits[1]) this.changed(channel, limits);
  }
}

function bars(context, { counts, from, to }, at, colour) {
  const most = Math.sqrt(Math.max(...counts, 1));
  const step = (to - from) / counts.length;
  context.globalAlpha = 0.45;
  context.fillStyle = colour;
  counts.forEach((count, index) => {
    const tall = (Math.sqrt(count) / most) * (HEIGHT - 4);
    const x = at(Number(from) + index * step);
    context.fillRect(x, HEIGHT - tall, Math.max(at(Number(from) + (index + 1) * step) - x, 1), tall);
  });
  context.globalAlpha = 1;
}
