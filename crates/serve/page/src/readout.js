// Values and coordinates under the pointer: one request at a time, the latest place wins.

import * as api from "./api.js";

export class Readout {
  /** {pixel, layer, values, x, y, lon, lat} or {pixel, layer, error}. */
  last = null;
  #next = null;
  /** The place whose answer is waited for; `null` once the pointer has left. */
  #current = null;
  #running = false;

  constructor(changed) {
    this.changed = changed;
  }

  clear() {
    this.#next = null;
    this.#current = null;
    this.last = null;
    this.changed();
  }

  show(layer, column, row) {
    const { width, height } = layer.info;
    if (!(column >= 0 && row >= 0 && column < width && row < height)) return this.clear();
    const same = this.last?.layer === layer && this.last.pixel[0] === column && this.last.pixel[1] === row;
    if (same) return undefined;
    this.#next = { layer, pixel: [column, row] };
    return this.#pump();
  }

  get busy() {
    return this.#running || this.#next !== null;
  }

  async #pump() {
    if (this.#running) return;
    this.#running = true;
    this.changed();
    while (this.#next) {
      const place = this.#next;
      this.#next = null;
      this.#current = place;
      const found = await api.value(place.layer.id, ...place.pixel).catch((error) => ({ error }));
      if (this.#current === place) this.last = { ...found, ...place };
      this.changed();
    }
    this.#running = false;
    this.changed();
  }
}
