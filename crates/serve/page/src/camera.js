// The place that is looked at: a centre in pixels of the first raster, and CSS pixels per such pixel.

const LARGEST = 256;

export class Camera {
  x = 0;
  y = 0;
  zoom = 1;
  /** Size of the raster, which bounds the centre and the zoom. */
  width = 1;
  height = 1;

  /** Shows the whole raster within a rectangle {x, y, w, h}. */
  fit(view) {
    this.x = this.width / 2;
    this.y = this.height / 2;
    this.zoom = Math.min(this.#whole(view), LARGEST);
  }

  #whole(view) {
    return 0.94 * Math.min(Math.max(view.w, 1) / this.width, Math.max(view.h, 1) / this.height);
  }

  /** Where the raster's corner lies, on a whole device pixel: at whole zooms all pixels have the same size. */
  #corner(view) {
    const ratio = globalThis.devicePixelRatio || 1;
    const snap = (at) => Math.round(at * ratio) / ratio;
    return [snap(view.x + view.w / 2 - this.x * this.zoom), snap(view.y + view.h / 2 - this.y * this.zoom)];
  }

  /** Raster pixel → CSS pixel. */
  toScreen(view, x, y) {
    const [left, top] = this.#corner(view);
    return [left + x * this.zoom, top + y * this.zoom];
  }

  /** CSS pixel → raster pixel. */
  toPixel(view, x, y) {
    const [left, top] = this.#corner(view);
    return [(x - left) / this.zoom, (y - top) / this.zoom];
  }

  /** The map of raster pixels to CSS pixels. */
  map(view) {
    const [x, y] = this.toScreen(view, 0, 0);
    return [this.zoom, 0, x, 0, this.zoom, y];
  }

  pan(dx, dy) {
    this.moveTo(this.x - dx / this.zoom, this.y - dy / this.zoom);
  }

  moveTo(x, y) {
    this.x = Math.min(Math.max(x, 0), this.width);
    this.y = Math.min(Math.max(y, 0), this.height);
  }

  /** Zooms by a factor; the raster pixel under (x, y) stays there. */
  zoomAt(view, factor, x, y) {
    const [px, py] = this.toPixel(view, x, y);
    const smallest = Math.min(this.#whole(view) / 4, 1);
    this.zoom = Math.min(Math.max(this.zoom * factor, smallest), LARGEST);
    const [nx, ny] = this.toPixel(view, x, y);
    this.moveTo(this.x + px - nx, this.y + py - ny);
  }
}
