// Values along a line between two points of the first raster.

import * as api from "./api.js";

export class Profile {
  /** One or two points in pixels. */
  points = [];
  active = false;
  /** {distance, values} of the line, or an error. */
  result = null;
  /** Share of the line under the pointer in the chart. */
  marked = null;
  #abort = null;

  constructor(app) {
    this.app = app;
  }

  start() {
    this.clear();
    this.active = true;
    this.app.changed("profile");
  }

  clear() {
    this.#abort?.abort();
    Object.assign(this, { points: [], active: false, result: null, marked: null });
    this.app.changed("profile");
  }

  /** Takes the next point; the second one asks for the values. */
  mark(x, y) {
    const { info } = this.app.scene.layers[0];
    const inside = [Math.min(Math.max(x, 0), info.width - 1e-6), Math.min(Math.max(y, 0), info.height - 1e-6)];
    if (this.points.length >= 2) this.points = [];
    this.points.push(inside);
    this.result = null;
    if (this.points.length === 2) {
      this.active = false;
      this.load();
    }
    this.app.changed("profile");
  }

  /** Asks for the values of the band that is drawn. */
  async load() {
    if (this.points.length < 2) return;
    const [layer] = this.app.scene.layers;
    const [[x0, y0], [x1, y1]] = this.points;
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    const [band] = layer.channels();
    try {
      this.result = { band, ...(await api.profile(layer.id, { x0, y0, x1, y1, band }, abort.signal)) };
    } catch (error) {
      if (error.name === "AbortError") return;
      this.result = { error };
    }
    this.app.changed("profile");
  }
}
