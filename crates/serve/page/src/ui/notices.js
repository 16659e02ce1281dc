// Messages over the picture: errors and progress.

import { button, h } from "../dom.js";
import { describe } from "../overlay.js";

export class Notices {
  #lines = new Map();

  constructor(element, app) {
    Object.assign(this, { element, app });
  }

  /** Shows a message, with a bar where `done` is given; `null` removes it. */
  set(key, text, done) {
    const line = this.#lines.get(key);
    if (!text) {
      line?.remove();
      this.#lines.delete(key);
      return;
    }
    if (line?.dataset.text === text) {
      const bar = line.querySelector("progress");
      if (bar) bar.value = done;
      return;
    }
    line?.remove();
    const bar = done === undefined ? null : h("progress", { max: 1, value: done, "aria-label": text });
    const made = h("p", {}, h("span", {}, text), bar);
    made.dataset.text = text;
    made.dataset.key = key;
    this.#lines.set(key, made);
    this.element.append(made);
  }

  /** One line for all tiles that failed. */
  failures(list) {
    const [first] = list;
    const count = list.length > 1 ? `${list.length} tiles cannot be shown; the first: ` : "A tile cannot be shown: ";
    const text = first && (first.error.unanswered ? first.error.message : count + describe(first.error));
    const shown = this.#lines.get("tiles");
    if (shown?.dataset.text === text) return;
    this.set("tiles", text ?? null);
    const again = () => {
      this.app.tiles.retry();
      this.app.redraw();
    };
    this.#lines.get("tiles")?.append(button("Try again", again));
  }
}
