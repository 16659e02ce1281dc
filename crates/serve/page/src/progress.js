// Levels that the server is making: how far it is, and drafts of them that are drawn meanwhile.

import * as api from "./api.js";

const PATIENCE = 300;
const PAUSE = 500;

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
    const drafts = this.app.tiles.drafts();
    if (!count && !drafts.length) {
      this.app.notices.set("progress", null);
      this.#timer = 0;
      return;
    }
    const late = oldest > PATIENCE ? layers.filter(({ info }) => info.levels.some((level) => !level.stored)) : [];
    const layer = drafts[0] ?? late[0];
    const told = layer ? await api.progress(layer.id).catch(() => null) : null;
    const making = told && told.under_way !== false && told.done < 1;
    const doing = drafts.length ? `Draft of ${layer.name}. It has no overviews: all of it is being read` : `Making reduced level ${told?.level} of ${layer?.name}`;
    this.app.notices.set("progress", making ? doing : null, making ? told.done : undefined);
    // The next draft is not asked for before all tiles of this one have come.
    if (told && drafts.length && !this.app.tiles.pending().count) {
      layer.draft = making ? (told.draft ?? layer.draft) : Infinity;
      this.app.redraw();
    }
    this.#timer = setTimeout(() => this.#look(), PAUSE);
  }
}
