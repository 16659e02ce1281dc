// What is drawn: one raster, or two side by side or swiped, seen by one camera.

import { apply, compose, determinant, invert, mapBox, scaling } from "./affine.js";
import { Camera } from "./camera.js";
import { chooseLevel, coarsest, tileBox, tilesIn } from "./pyramid.js";

/** Tiles of the coarsest level that are always kept, and that statistics are made of. */
const KEPT_TILES = 4;

export class Scene {
  camera = new Camera();
  layers = [];
  layout = "single";
  /** Whether nothing is drawn: the raster that was chosen cannot be opened. */
  hidden = false;
  /** Share of the width left of the swipe. */
  swipe = 0.5;
  /** Visible tiles that failed: [{layer, box, error, place}]. */
  failures = [];

  constructor(painter, tiles, canvas) {
    Object.assign(this, { painter, tiles, canvas });
  }

  /** Rectangles in CSS pixels: where each layer is drawn, and the part of it that is shown. */
  panes() {
    const [w, h] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const whole = { x: 0, y: 0, w, h };
    const [first, second] = this.layers;
    if (!first || this.hidden) return [];
    if (!second || this.layout === "single") return [{ layer: first, view: whole, clip: whole }];
    const at = Math.round(this.layout === "side" ? w / 2 : w * this.swipe);
    const [left, right] = [{ x: 0, y: 0, w: at, h }, { x: at, y: 0, w: w - at, h }];
    return this.layout === "side"
      ? [{ layer: first, view: left, clip: left }, { layer: second, view: right, clip: right }]
      : [{ layer: first, view: whole, clip: left }, { layer: second, view: whole, clip: right }];
  }

  /** The pane at a place of the canvas. */
  paneAt(x) {
    const panes = this.panes();
    return panes.find(({ clip }) => x >= clip.x && x < clip.x + clip.w) ?? panes[0];
  }

  /** Pixel of the pane's raster under a place of the canvas: not rounded. */
  pixelAt({ layer, view }, x, y) {
    const inverse = invert(layer.toFirst);
    return inverse ? apply(inverse, ...this.camera.toPixel(view, x, y)) : [NaN, NaN];
  }

  /** The map of a pane's raster pixels to CSS pixels. */
  mapOf({ layer, view }) {
    return compose(this.camera.map(view), layer.toFirst);
  }

  fit() {
    const [pane] = this.panes();
    if (pane) this.camera.fit(pane.view);
  }

  /** Full-size pixels per device pixel. */
  density(pane) {
    return 1 / (Math.sqrt(Math.abs(determinant(this.mapOf(pane)))) * (devicePixelRatio || 1));
  }

  levelOf(pane) {
    return chooseLevel(pane.layer.info.levels, this.density(pane));
  }

  /** The visible part of a pane's raster [x0, y0, x1, y1]; `null` where none is. */
  visible(pane) {
    const inverse = invert(this.mapOf(pane));
    if (!inverse || pane.clip.w <= 0 || pane.clip.h <= 0) return null;
    const { x, y, w, h } = pane.clip;
    const [x0, y0, x1, y1] = mapBox(inverse, [x, y, x + w, y + h]);
    const { width, height } = pane.layer.info;
    const box = [Math.max(x0, 0), Math.max(y0, 0), Math.min(x1, width), Math.min(y1, height)];
    return box[0] < box[2] && box[1] < box[3] ? box : null;
  }

  draw() {
    const ratio = devicePixelRatio || 1;
    const { canvas, painter, tiles } = this;
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    painter.begin(width, height);
    tiles.begin();
    this.failures = [];
    for (const pane of this.panes()) {
      const [x0, y0, x1, y1] = [pane.clip.x, pane.clip.y, pane.clip.x + pane.clip.w, pane.clip.y + pane.clip.h].map((v) =>
        Math.round(v * ratio),
      );
      painter.clip({ x: x0, y: y0, w: x1 - x0, h: y1 - y0 });
      this.#pane(pane, compose(scaling(ratio), this.mapOf(pane)));
    }
    tiles.end();
  }

  #pane(pane, map) {
    const { layer } = pane;
    const bands = layer.channels();
    const kept = this.#base(layer, bands);
    layer.settle(kept);
    const box = this.visible(pane);
    if (!box) return;
    const level = this.levelOf(pane);
    const { column0, row0, column1, row1 } = tilesIn(level, box);
    const [middleColumn, middleRow] = [(column0 + column1 - 1) / 2, (row0 + row1 - 1) / 2];
    const wanted = [];
    let missing = false;
    for (let row = row0; row < row1; row += 1) {
      for (let column = column0; column < column1; column += 1) {
        const place = { level: level.level, column, row };
        const entry = this.tiles.want(layer, place, bands, 1 + Math.hypot(column - middleColumn, row - middleRow));
        const part = tileBox(level, column, row);
        if (entry.has(bands)) wanted.push({ entry, box: part });
        else missing = true;
        const error = [...entry.failures.values()].at(-1);
        if (error && (entry.draft || !entry.has(bands))) this.failures.push({ pane, box: part, error, place });
      }
    }
    // Until all have come: what is here of other levels, coarse ones below fine ones.
    if (missing) this.painter.draw(layer, this.#others(layer, bands, level), map);
    this.painter.draw(layer, wanted, map);
  }

  /** Asks for the tiles of the coarsest level and returns the samples of those that are here. */
  #base(layer, bands) {
    const level = coarsest(layer.info.levels);
    const { column1, row1 } = tilesIn(level, [0, 0, layer.info.width, layer.info.height]);
    const kept = [];
    for (let index = 0; index < Math.min(column1 * row1, KEPT_TILES); index += 1) {
      const place = { level: level.level, column: index % column1, row: Math.floor(index / column1) };
      const { samples } = this.tiles.want(layer, place, bands, 0, true);
      if (samples && bands.every((band) => samples.bands.has(band))) kept.push(samples);
    }
    layer.kept = kept;
    return kept;
  }

  #others(layer, bands, level) {
    const byNumber = new Map(layer.info.levels.map((one) => [one.level, one]));
    return this.tiles
      .held(layer, bands)
      .filter((entry) => entry.place.level !== level.level)
      .map((entry) => ({ entry, of: byNumber.get(entry.place.level) }))
      .sort((one, other) => other.of.scale_x - one.of.scale_x)
      .map(({ entry, of }) => ({ entry, box: tileBox(of, entry.place.column, entry.place.row) }));
  }
}
