// The file's own structure over the picture: borders of blocks, coloured by their compressed size.

import * as api from "./api.js";
import { mapBox } from "./affine.js";
import { bytes } from "./format.js";
import { chooseLevel } from "./pyramid.js";
import { css } from "./ramps.js";

/** Blocks that are drawn at once. */
const MOST = 4096;
const DELAY = 120;

export class Structure {
  on = false;
  #answers = new Map();
  #timer = 0;
  #abort = null;

  constructor(changed) {
    this.changed = changed;
  }

  toggle() {
    this.on = !this.on;
    this.changed();
  }

  /** The part of a pane whose blocks are drawn; with `many` where there are too many of them. */
  part(scene, pane) {
    const box = scene.visible(pane);
    const stored = pane.layer.info.levels.filter((level) => level.stored);
    if (!box || !stored.length) return null;
    const level = chooseLevel(stored, scene.density(pane));
    const [w, h] = [level.tile_width * level.scale_x, level.tile_height * level.scale_y];
    const [column0, row0] = [Math.floor(box[0] / w), Math.floor(box[1] / h)];
    const columns = Math.max(Math.min(Math.ceil(box[2] / w), Math.ceil(level.width / level.tile_width)) - column0, 1);
    const rows = Math.max(Math.min(Math.ceil(box[3] / h), Math.ceil(level.height / level.tile_height)) - row0, 1);
    return { level, column0, row0, columns, rows, w, h, many: columns * rows > MOST };
  }

  draw(context, scene, pane) {
    if (!this.on) return;
    const part = this.part(scene, pane);
    if (!part || part.many) return;
    const key = `${pane.layer.id}/${part.level.level}/${part.column0}/${part.row0}/${part.columns}/${part.rows}`;
    const answer = this.#answers.get(pane.layer.id);
    if (answer?.key !== key) this.#ask(pane.layer, part, key);
    if (answer?.blocks) this.#blocks(context, scene.mapOf(pane), answer);
  }

  #ask(layer, part, key) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      this.#abort?.abort();
      this.#abort = new AbortController();
      const { column0, row0, columns, rows } = part;
      try {
        const found = await api.structure(layer.id, part.level.level, { column0, row0, columns, rows }, this.#abort.signal);
        this.#answers.set(layer.id, { key, part, blocks: found.bytes, found });
      } catch (error) {
        if (error.name === "AbortError") return;
        this.#answers.set(layer.id, { key, part, error });
      }
      this.changed();
    }, DELAY);
  }

  #blocks(context, map, { part, blocks }) {
    const largest = Math.max(...blocks.map(Number), 1);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "top";
    blocks.forEach((size, index) => {
      const [column, row] = [part.column0 + (index % part.columns), part.row0 + Math.floor(index / part.columns)];
      const box = [column * part.w, row * part.h];
      const [width, height] = [part.level.width * part.level.scale_x, part.level.height * part.level.scale_y];
      const [x0, y0, x1, y1] = mapBox(map, [...box, Math.min(box[0] + part.w, width), Math.min(box[1] + part.h, height)]);
      context.fillStyle = size ? css("viridis", size / largest, 0.45) : "#0008";
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
      context.strokeStyle = "#fffc";
      context.strokeRect(x0, y0, x1 - x0, y1 - y0);
      const label = size ? bytes(size) : "empty";
      if (x1 - x0 < context.measureText(label).width + 8 || y1 - y0 < 18) return;
      context.fillStyle = "#000a";
      context.fillRect(x0 + 2, y0 + 2, context.measureText(label).width + 6, 15);
      context.fillStyle = "#fff";
      context.fillText(label, x0 + 5, y0 + 4);
    });
  }

  /** What the panel says of the visible blocks. */
  describe(scene, pane) {
    const part = this.part(scene, pane);
    if (!part) return "The file stores no blocks here.";
    const count = part.columns * part.rows;
    const blocks = `Level ${part.level.level}, ${part.level.tile_width} × ${part.level.tile_height} blocks, ${count} visible`;
    if (part.many) return `${blocks}. Zoom in to see them: at most ${MOST} are drawn.`;
    const answer = this.#answers.get(pane.layer.id);
    if (answer?.error) return `Cannot read the block sizes: ${answer.error.message}`;
    if (!answer?.blocks) return `${blocks}…`;
    const sum = answer.blocks.reduce((total, size) => total + Number(size), 0);
    const empty = answer.blocks.filter((size) => !size).length;
    return `${blocks}, ${answer.found.codec}, ${bytes(sum)}${empty ? `, ${empty} empty` : ""}`;
  }
}
