// The line at the bottom: what is under the pointer, and the slider over the rasters of a folder.

import { button, h } from "../dom.js";
import { coordinate, degrees, exact } from "../format.js";

const PACE = 900;

export class Foot {
  #playing = 0;

  constructor(element, app) {
    Object.assign(this, { element, app });
  }

  build() {
    this.readout = h("div", { id: "readout" });
    this.place = h("div", { id: "place" });
    const children = [h("div", { class: "line" }, this.readout, this.place)];
    if (this.app.sources.length > 1) children.unshift(this.#time());
    this.element.replaceChildren(...children);
  }

  #time() {
    const { app } = this;
    this.slider = h("input", {
      id: "time",
      type: "range",
      min: 0,
      max: app.sources.length - 1,
      step: 1,
      "aria-label": "Raster of the folder",
      oninput: () => app.show(app.sources[this.slider.valueAsNumber].id, true),
    });
    this.slider.value = "0";
    this.play = button("Play", () => this.#toggle(), { id: "play" });
    this.label = h("output", { for: "time" });
    return h("div", { class: "time" }, this.play, this.slider, this.label);
  }

  #toggle() {
    if (this.#playing) {
      clearInterval(this.#playing);
      this.#playing = 0;
    } else {
      this.#playing = setInterval(() => this.#next(), PACE);
    }
    this.play.textContent = this.#playing ? "Pause" : "Play";
  }

  /** The next raster, once the one before is drawn. */
  #next() {
    const { app } = this;
    if (app.tiles.pending().count) return;
    const openable = app.sources.filter(({ ok }) => ok !== false);
    const at = openable.findIndex(({ id }) => id === app.shown);
    if (openable.length) app.show(openable[(at + 1) % openable.length].id, true);
  }

  update() {
    if (!this.readout) return;
    const { app } = this;
    const { last } = app.readout;
    this.readout.replaceChildren(...(last ? this.#under(last) : [h("span", { class: "quiet" }, "Point at the raster to read its values.")]));
    const [pane] = app.scene.panes();
    if (pane) {
      const level = app.scene.levelOf(pane);
      const percent = app.scene.camera.zoom * (devicePixelRatio || 1) * 100;
      const waiting = app.tiles.pending().count ? "loading · " : "";
      this.place.textContent = `${waiting}${percent >= 10 ? Math.round(percent) : percent.toPrecision(2)} % · level ${level.level}`;
    }
    if (this.slider) {
      const at = app.sources.findIndex(({ id }) => id === app.shown);
      this.slider.value = String(at);
      this.slider.setAttribute("aria-valuetext", app.sources[at]?.name ?? "");
      this.label.textContent = `${at + 1} / ${app.sources.length} · ${app.sources[at]?.name ?? ""}`;
    }
  }

  #under({ layer, pixel, column, row, level, error, values, complex, valid, x, y, lon, lat }) {
    const part = (name, text) => h("span", { class: "part" }, h("b", {}, name), ` ${text}`);
    // On a web map the server says which pixel of the file lies there.
    const own = layer.onMap ? [column, row] : pixel;
    if (error) return [part("pixel", `${pixel[0]}, ${pixel[1]}`), part("error", error.message)];
    const parts = [part("pixel", `${own[0]}, ${own[1]}`)];
    if (level) parts.push(part("of reduced", `level ${level}`));
    const drawn = [...new Set(layer.channels())];
    for (const band of drawn) parts.push(part(bandName(layer.info, band), exact((complex ?? values)[band - 1])));
    if (valid === false) parts.push(part("", "nodata"));
    if (Number.isFinite(x) && Number.isFinite(y)) parts.push(part("x, y", `${coordinate(x)}, ${coordinate(y)}`));
    if (Number.isFinite(lon) && Number.isFinite(lat)) parts.push(part("lon, lat", `${degrees(lon, "E", "W")}, ${degrees(lat, "N", "S")}`));
    return parts;
  }
}

/** A band's number with its description or name. */
export function bandName(info, number) {
  const band = info.bands[number - 1];
  const name = band?.description || band?.name;
  const meant = name && name !== String(number) && name.toLowerCase() !== `band ${number}`;
  return meant ? `${number} ${name}` : `band ${number}`;
}
