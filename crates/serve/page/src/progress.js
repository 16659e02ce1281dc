// Progress of levels that the server is making: asked for while tiles are waited for.

import * as api from "./api.js";

const PATIENCE = 300;
const PAUSE = 400;

export class Progress {
  #timer = 0;

  constructor(app) {
    this.app = app;
  }

  watch() {
    this.#timer ||= setTimeout(() => this.#look(), PATIENCE);
  }

  async #look() {
    const { count, oldest, layers } = this.app.tiles.pending();
    if (!count) {
      this.app.notices.set("progress", null);
      this.#timer = 0;
      return;
    }
    const layer = layers.find(({ info }) => info.levels.some((level) => !level.stored));
    const told = oldest > PATIENCE && layer ? await api.progress(layer.id).catch(() => null) : null;
    const making = told && told.under_way !== false && told.done < 1;
    this.app.notices.set("progress", making ? `Making reduced level ${told.level} of ${layer.name}` : null, making ? told.done : undefined);
    this.#timer = setTimeout(() => this.#look(), PAUSE);
  }
}
