// What lies over the picture: failed tiles, block borders, the profile's line, and the cross of the keyboard.

import { apply, mapBox } from "./affine.js";

export class Overlay {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  draw(app) {
    const ratio = devicePixelRatio || 1;
    const { canvas, context } = this;
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio);
    if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    for (const pane of app.scene.panes()) this.#clipped(pane, () => app.structure.draw(context, app.scene, pane));
    for (const failure of app.scene.failures) this.#clipped(failure.pane, () => this.#failure(app.scene, failure));
    this.#profile(app);
    if (app.cross) this.#cross(app.cross);
  }

  #clipped({ clip }, work) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(clip.x, clip.y, clip.w, clip.h);
    context.clip();
    work();
    context.restore();
  }

  /** The error in the tile's place, cut where the tile is too small for it. */
  #failure(scene, { pane, box, error }) {
    const { context } = this;
    const [x0, y0, x1, y1] = mapBox(scene.mapOf(pane), box);
    const [w, h] = [x1 - x0, y1 - y0];
    context.fillStyle = "#3a1d1dee";
    context.fillRect(x0, y0, w, h);
    context.strokeStyle = "#e0857a";
    context.strokeRect(x0 + 0.5, y0 + 0.5, w - 1, h - 1);
    if (w < 24 || h < 16) return;
    context.beginPath();
    context.rect(x0, y0, w, h);
    context.clip();
    context.fillStyle = "#ffe9e5";
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "top";
    lines(context, describe(error), w - 12)
      .slice(0, Math.floor((h - 8) / 15))
      .forEach((line, index) => context.fillText(line, x0 + 6, y0 + 6 + 15 * index));
  }

  #profile({ profile, scene }) {
    const [pane] = scene.panes();
    if (!pane || !profile.points.length) return;
    const { context } = this;
    const map = scene.mapOf(pane);
    const places = profile.points.map(([x, y]) => apply(map, x, y));
    for (const [colour, width] of [["#000a", 5], ["#fff", 2]]) {
      Object.assign(context, { strokeStyle: colour, fillStyle: colour, lineWidth: width });
      context.beginPath();
      places.forEach(([x, y]) => context.lineTo(x, y));
      context.stroke();
      for (const [x, y] of places) {
        context.beginPath();
        context.arc(x, y, 2 + width / 2, 0, 7);
        context.fill();
      }
    }
    if (profile.marked !== null && places.length === 2) {
      const [[x0, y0], [x1, y1]] = places;
      context.fillStyle = "#ffb000";
      context.beginPath();
      context.arc(x0 + (x1 - x0) * profile.marked, y0 + (y1 - y0) * profile.marked, 5, 0, 7);
      context.fill();
    }
  }

  #cross([x, y]) {
    const { context } = this;
    for (const [colour, width] of [["#000a", 3], ["#fff", 1]]) {
      Object.assign(context, { strokeStyle: colour, lineWidth: width });
      context.beginPath();
      context.moveTo(x - 8, y);
      context.lineTo(x + 8, y);
      context.moveTo(x, y - 8);
      context.lineTo(x, y + 8);
      context.stroke();
    }
  }
}

/** An error with its block and codec, where the server names them. */
export function describe({ message, block, codec }) {
  const named = block && message.includes(`column ${block.column}, row ${block.row}`);
  const place = block && (named ? `level ${block.level}` : `block column ${block.column}, row ${block.row} of level ${block.level}`);
  const more = [place, codec].filter((words) => words && !message.includes(words));
  return more.length ? `${message} (${more.join(", ")})` : message;
}

/** Breaks a text into lines of a width. */
function lines(context, text, width) {
  const found = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    const longer = line ? `${line} ${word}` : word;
    if (line && context.measureText(longer).width > width) {
      found.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...found, line];
}
