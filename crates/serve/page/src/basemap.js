// Pictures of a web map below rasters that are shown in Web Mercator. They are asked for only where `--basemap` names them.

import { apply, invert, mapBox } from "./affine.js";

/** Metres around the Earth on a web map. */
const AROUND = 40075016.68557849;
const TILE = 256;
const LARGEST_ZOOM = 19;
/** Pictures that are kept. */
const KEPT = 256;
/** Zooms above that are looked at for a picture until the own one has come. */
const ABOVE = 4;

/** The zoom whose pictures have about one pixel per screen pixel, of `metres` each. */
export function zoomFor(metres) {
  const zoom = Math.round(Math.log2(AROUND / TILE / metres));
  return Math.min(Math.max(zoom, 0), LARGEST_ZOOM);
}

/** Tiles of a zoom that meet a box of metres [x0, y0, x1, y1]: [[column, row]…]. */
export function tilesOver([x0, y0, x1, y1], zoom) {
  const count = 2 ** zoom;
  const side = AROUND / count;
  const clamp = (value) => Math.min(Math.max(value, 0), count - 1);
  const column = (x) => clamp(Math.floor((x + AROUND / 2) / side));
  const row = (y) => clamp(Math.floor((AROUND / 2 - y) / side));
  const found = [];
  for (let y = row(y1); y <= row(y0); y += 1) for (let x = column(x0); x <= column(x1); x += 1) found.push([x, y]);
  return found;
}

export class Basemap {
  on = true;
  opacity = 1;
  #pictures = new Map();

  constructor(canvas, credit, changed) {
    Object.assign(this, { canvas, credit, changed, context: canvas.getContext("2d") });
  }

  draw(scene) {
    const { canvas, context } = this;
    const panes = scene.panes().filter(({ layer }) => this.on && layer.onMap && layer.info.basemap);
    const ratio = devicePixelRatio || 1;
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio);
    if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, w, h);
    scene.canvas.style.opacity = panes.length ? String(this.opacity) : "";
    this.credit.hidden = !panes.length;
    if (!panes.length) return;
    this.credit.textContent = `Basemap: ${new URL(panes[0].layer.info.basemap).host}`;
    for (const pane of panes) this.#pane(scene, pane, ratio);
  }

  #pane(scene, pane, ratio) {
    const { context } = this;
    const { clip, layer } = pane;
    const { transform, basemap } = layer.info;
    const map = scene.mapOf(pane);
    const [toPixel, toRaster] = [invert(map), invert(transform)];
    if (!toPixel || !toRaster) return;
    const metres = mapBox(transform, mapBox(toPixel, [clip.x, clip.y, clip.x + clip.w, clip.y + clip.h]));
    const zoom = zoomFor((metres[2] - metres[0]) / Math.max(clip.w, 1) / ratio);
    const side = AROUND / 2 ** zoom;
    const place = (column, row) => apply(map, ...apply(toRaster, column * side - AROUND / 2, AROUND / 2 - row * side));
    context.save();
    context.beginPath();
    context.rect(clip.x, clip.y, clip.w, clip.h);
    context.clip();
    for (const [column, row] of tilesOver(metres, zoom)) {
      // On whole pixels, so that no gap shows between pictures.
      const [x0, y0] = place(column, row).map(Math.round);
      const [x1, y1] = place(column + 1, row + 1).map(Math.round);
      this.#picture(basemap, zoom, column, row, [x0, y0, x1 - x0, y1 - y0]);
    }
    context.restore();
  }

  /** Draws a picture, or the part of one above it until it has come. */
  #picture(template, zoom, column, row, box) {
    if (this.#ready(template, zoom, column, row)) {
      this.context.drawImage(this.#ready(template, zoom, column, row), ...box);
      return;
    }
    for (let up = 1; up <= Math.min(ABOVE, zoom); up += 1) {
      const picture = this.#pictures.get(address(template, zoom - up, column >> up, row >> up));
      if (!picture?.complete || !picture.naturalWidth) continue;
      const part = picture.naturalWidth / 2 ** up;
      const inside = (at) => (at % 2 ** up) * part;
      this.context.drawImage(picture, inside(column), inside(row), part, part, ...box);
      return;
    }
  }

  #ready(template, zoom, column, row) {
    const key = address(template, zoom, column, row);
    let picture = this.#pictures.get(key);
    if (!picture) {
      picture = new Image();
      picture.addEventListener("load", this.changed);
      picture.src = key;
    }
    this.#pictures.delete(key);
    this.#pictures.set(key, picture);
    for (const old of [...this.#pictures.keys()].slice(0, Math.max(this.#pictures.size - KEPT, 0))) this.#pictures.delete(old);
    return picture.complete && picture.naturalWidth ? picture : null;
  }
}

const address = (template, zoom, column, row) => template.replaceAll("{z}", zoom).replaceAll("{x}", column).replaceAll("{y}", row);
