// One raster as it is drawn: its facts, style, statistics and place on the first raster's grid.

import { compose, IDENTITY, invert, scaling } from "./affine.js";
import * as api from "./api.js";
import { figures, gather } from "./figures.js";
import { isComplex, valueAt } from "./samples.js";
import { channels, defaultStyle, limitsBy, stretched } from "./style.js";

/** Bands that a file may have to be asked for all at once. */
const ALL_BANDS = 4;
const PROVISIONAL = [0, 255];

/** What a raster is called in addresses. */
export const addressOf = (id, onMap) => (onMap ? `${id}@web` : id);

export class Layer {
  /** Base values of wide types, by band. */
  bases = new Map();
  /** Pixels of this raster → pixels of the first one. */
  toFirst = IDENTITY;
  /** The newest draft of levels that are being made; infinite once they are made. */
  draft = 0;
  #statistics = new Map();
  #sampled = { key: "", figures: [] };

  /** `onMap` says that it is shown in Web Mercator. */
  constructor(source, info, style, onMap = false) {
    this.source = source.id;
    this.onMap = onMap;
    /** What requests name it by. */
    this.id = addressOf(source.id, onMap);
    this.name = source.name;
    this.info = info;
    this.complex = isComplex(info.dtype);
    this.style = style ?? defaultStyle(info);
    this.cell = cellOf(info);
  }

  channels() {
    return channels(this.style);
  }

  /** Bands to ask for when `bands` are drawn. */
  request(bands) {
    const { length } = this.info.bands;
    return length <= ALL_BANDS ? Array.from({ length }, (_, index) => index + 1) : [...new Set(bands)].sort((a, b) => a - b);
  }

  /** Whether the server's statistics describe what is drawn: those of complex numbers and formulas are made here. */
  get served() {
    return this.style.mode !== "ratio" && !this.complex;
  }

  /** Asks for the statistics of the drawn bands; `changed` is called when they have come. */
  ask(changed) {
    const useful = this.served && this.style.mode !== "palette";
    const stale = (found) => found?.draft && found.draft < this.draft;
    const missing = [...new Set(this.channels())].filter((band) => useful && (!this.#statistics.has(band) || stale(this.#statistics.get(band))));
    if (!missing.length) {
      changed();
      return;
    }
    for (const band of missing) this.#statistics.set(band, this.#statistics.get(band) ?? null);
    api
      .statistics(this.id, missing)
      .then((found) => missing.forEach((band, index) => this.#statistics.set(band, found[index] ?? null)))
      .catch((error) => {
        this.failure = error;
      })
      .finally(changed);
  }

  /** Statistics of each stretched channel; `null` where they have not come. `kept` are samples of the coarsest level. */
  figures(kept) {
    const numbers = this.channels();
    if (this.served) {
      const found = numbers.map((band) => this.#statistics.get(band) ?? null);
      if (found.every(Boolean)) return found;
    }
    const key = `${this.style.mode} ${this.style.formula} ${this.style.part} ${numbers} ${kept.map(({ draft }) => draft)}`;
    if (key !== this.#sampled.key) {
      const groups = this.style.mode === "ratio" ? [numbers] : numbers.map((band) => [band]);
      const sampled = groups.map((group) => {
        const values = [];
        for (const samples of kept) gather(samples, group, (bands, index) => this.#read(bands, index), values);
        return figures(values);
      });
      this.#sampled = { key, figures: sampled };
    }
    return this.#sampled.figures;
  }

  #read(bands, index) {
    const value = ([band, number]) => valueAt(band, index, Number(this.bases.get(number) ?? 0), this.style.part);
    const [a, b] = bands.map(value);
    if (this.style.mode !== "ratio") return a;
    if (this.style.formula === "quotient") return a / b;
    return this.style.formula === "difference" ? a - b : (a - b) / (a + b);
  }

  /** Sets the limits by the stretch, unless they are set by hand. */
  settle(kept) {
    const { style } = this;
    const count = stretched(style);
    if (style.stretch === "manual" && style.limits.length >= count) return;
    const found = this.figures(kept).slice(0, count);
    const limits = found.map((one) => limitsBy(style.stretch, one, this.info.dtype));
    style.limits = limits.map((one, index) => one ?? style.limits[index] ?? PROVISIONAL);
  }

  limits() {
    return this.style.limits.length ? this.style.limits : [PROVISIONAL];
  }

  /** Places this raster on the grid of another: by georeferencing where both are in one CRS, else by size. */
  placeOn(first) {
    const [own, other] = [this.info.transform, first.info.transform];
    const name = (info) => info.crs?.code || info.crs?.name || "";
    const inverse = own && other && name(this.info) === name(first.info) ? invert(other) : null;
    this.toFirst = inverse
      ? compose(inverse, own)
      : scaling(first.info.width / this.info.width, first.info.height / this.info.height);
  }
}

/** Size of a pixel in metres or units, to the east and to the north: signs say where columns and rows run. */
function cellOf({ transform, crs, bounds }) {
  if (!transform) return [1, 1];
  const [a, b, , d, e] = transform;
  let [x, y] = [Math.hypot(a, d) * (a < 0 ? -1 : 1), Math.hypot(b, e) * (e > 0 ? -1 : 1)];
  if (crs?.geographic && bounds) {
    const latitude = (bounds[1] + bounds[3]) / 2;
    y *= 111320;
    x *= 111320 * Math.max(Math.cos((latitude * Math.PI) / 180), 0.01);
  }
  return [x || 1, y || 1];
}
