// Ties the parts together: sources, scene, tools and panels.

import * as api from "./api.js";
import { Basemap } from "./basemap.js";
import { Painter } from "./gl/painter.js";
import { listen, listenDivider } from "./input.js";
import { addressOf, Layer } from "./layer.js";
import { Overlay } from "./overlay.js";
import { Profile } from "./profile.js";
import { Progress } from "./progress.js";
import { Readout } from "./readout.js";
import { Scene } from "./scene.js";
import { readState, writeState } from "./state.js";
import { Structure } from "./structure.js";
import { Tiles } from "./tiles.js";
import { Bar } from "./ui/bar.js";
import { Foot } from "./ui/foot.js";
import { Notices } from "./ui/notices.js";
import { Panel } from "./ui/panel.js";

/** After so many milliseconds the page says that it opens a raster. */
const PATIENCE = 300;

const find = (id) => document.getElementById(id);

/** A copy of a layer's style for a raster of the same shape. Limits stay for another raster, so that two dates compare. */
function carried({ style, source, info: from }, id, to) {
  const same = from.dtype === to.dtype && from.bands.length === to.bands.length && !from.palette === !to.palette;
  const stays = source !== id && style.limits.length;
  return same ? { ...structuredClone(style), stretch: stays ? "manual" : style.stretch } : undefined;
}

export class App {
  sources = [];
  /** The layer whose style the panel shows: 0 or 1. */
  active = 0;
  cross = null;
  /** Whether rasters are shown in Web Mercator, not in their own grids. */
  onMap = false;
  #infos = new Map();
  #bases = new Map();
  #frame = 0;
  #asking = 0;

  constructor() {
    const picture = find("picture");
    this.painter = new Painter(picture);
    if (!this.painter.gl) throw new Error("This browser has no WebGL 2, which draws the raster. Try another browser, or enable hardware acceleration.");
    this.tiles = new Tiles(this.painter.gl, () => this.redraw());
    this.scene = new Scene(this.painter, this.tiles, picture);
    this.overlay = new Overlay(find("overlay"));
    this.basemap = new Basemap(find("basemap"), find("credit"), () => this.redraw());
    this.structure = new Structure(() => this.changed("structure"));
    this.profile = new Profile(this);
    this.readout = new Readout(() => this.changed("readout"));
    this.progress = new Progress(this);
    this.notices = new Notices(find("notices"), this);
    this.bar = new Bar(find("bar"), this);
    this.foot = new Foot(find("foot"), this);
    this.panel = new Panel(find("panel"), this);
    this.divider = find("divider");
    this.picture = picture;
    listen(picture, this);
    listenDivider(this.divider, find("stage"), this);
    new ResizeObserver(() => this.redraw()).observe(find("stage"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    picture.addEventListener("webglcontextlost", (event) => event.preventDefault());
    picture.addEventListener("webglcontextrestored", () => {
      this.painter.reset();
      this.tiles.clear();
      this.redraw();
    });
    picture.addEventListener("focus", () => this.redraw());
    picture.addEventListener("blur", () => this.left());
    addEventListener("hashchange", (event) => this.#place(readState(new URL(event.newURL).hash)));
    if (!api.embedded) addEventListener("pagehide", (event) => event.persisted || api.close());
  }

  async start() {
    this.sources = await api.sources();
    if (!this.sources.length) throw new Error("There is nothing to show: no raster was given to `strile view`.");
    const state = readState();
    const wanted = this.sources.find(({ id }) => String(id) === state.source) ?? this.sources.find(({ ok }) => ok !== false) ?? this.sources[0];
    this.onMap = Boolean(state.onMap);
    this.bar.build();
    this.foot.build();
    await this.show(wanted.id);
    if (state.layout && this.source(state.second)) await this.compare(state.layout, state.second);
    this.#place(state);
  }

  /** Looks at the place that an address names. */
  #place({ x, y, zoom }) {
    if (x !== undefined) {
      this.scene.camera.zoom = zoom;
      this.scene.camera.moveTo(x, y);
    }
    this.redraw();
  }

  get layer() {
    return this.scene.layers[this.active] ?? this.scene.layers[0];
  }

  source(id) {
    return this.sources.find((source) => String(source.id) === String(id));
  }

  async #layer(id, like) {
    const source = this.source(id);
    if (source.ok === false) throw new api.Failure(source.error ?? `cannot open ${source.name}`);
    const address = addressOf(source.id, this.onMap);
    if (!this.#infos.has(address)) this.#infos.set(address, await api.info(address));
    const info = this.#infos.get(address);
    const layer = new Layer(source, info, like && carried(like, source.id, info), this.onMap);
    if (!this.#bases.has(layer.id)) this.#bases.set(layer.id, layer.bases);
    layer.bases = this.#bases.get(layer.id);
    return layer;
  }

  /** Shows a source as the first raster; with `keep`, in the style of the one before where that fits. */
  async show(id, keep = false) {
    const token = (this.showing = {});
    this.#busy(1);
    const late = setTimeout(() => this.notices.set("opening", `Opening ${this.source(id).name}…`), PATIENCE);
    try {
      const before = this.scene.layers[0];
      const layer = await this.#layer(id, keep ? before : undefined);
      if (this.showing !== token) return;
      const { width, height } = layer.info;
      const moved = !before || before.info.width !== width || before.info.height !== height;
      this.scene.layers[0] = layer;
      Object.assign(this.scene.camera, { width, height });
      this.scene.layers[1]?.placeOn(layer);
      document.title = `${layer.name} – strile`;
      this.notices.set("source", null);
      this.scene.hidden = false;
      if (moved) this.scene.fit();
      this.profile.load();
    } catch (error) {
      if (this.showing !== token) return;
      this.scene.hidden = true;
      this.notices.set("source", `Cannot show ${this.source(id).name}: ${error.message}`);
    } finally {
      clearTimeout(late);
      if (this.showing === token) this.notices.set("opening", null);
      this.#busy(-1);
    }
    this.shown = id;
    this.readout.clear();
    this.changed("source");
  }

  /** Shows two rasters: layout "side" or "swipe"; "single" shows the first alone. */
  async compare(layout, id) {
    if (!this.scene.layers[0]) return;
    this.scene.layout = layout;
    if (layout === "single") {
      this.scene.layers.length = Math.min(this.scene.layers.length, 1);
      this.active = 0;
    } else {
      const second = id ?? this.scene.layers[1]?.source ?? this.#other();
      this.#busy(1);
      try {
        this.scene.layers[1] = await this.#layer(this.source(second).id);
        this.scene.layers[1].placeOn(this.scene.layers[0]);
        this.notices.set("second", null);
      } catch (error) {
        this.scene.layout = "single";
        this.notices.set("second", `Cannot show ${this.source(second).name}: ${error.message}`);
      } finally {
        this.#busy(-1);
      }
    }
    this.scene.fit();
    this.changed("source");
  }

  #other() {
    const at = this.sources.findIndex(({ id }) => String(id) === String(this.scene.layers[0].source));
    return this.sources[(at + 1) % this.sources.length].id;
  }

  /** Shows all rasters in Web Mercator, or each in its own grid. */
  async place(onMap) {
    const [, second] = this.scene.layers;
    this.onMap = onMap;
    this.profile.clear();
    if (onMap && this.structure.on) this.structure.toggle();
    const { layout } = this.scene;
    await this.show(this.shown, true);
    if (layout !== "single" && second) await this.compare(layout, second.source);
    this.scene.fit();
    this.changed("source");
  }

  #busy(by) {
    this.#asking += by;
    document.documentElement.dataset.state = "busy";
    this.redraw();
  }

  fit() {
    this.scene.fit();
    this.moved();
  }

  moved() {
    this.redraw();
  }

  /** Takes the pixel of the first raster under a place as a point of the profile. */
  markProfile(x, y) {
    const pane = this.scene.paneAt(x);
    if (pane) this.profile.mark(...this.scene.camera.toPixel(pane.view, x, y));
  }

  pointed(x, y, byKeyboard = false) {
    this.cross = byKeyboard ? [x, y] : null;
    const pane = this.scene.paneAt(x);
    if (!pane) return;
    const [column, row] = this.scene.pixelAt(pane, x, y);
    this.readout.show(pane.layer, Math.floor(column), Math.floor(row));
  }

  clicked(x, y) {
    if (this.profile.active) this.markProfile(x, y);
  }

  left() {
    this.cross = null;
    this.readout.clear();
    this.redraw();
  }

  /** A style was changed: new limits, statistics where they are missing. */
  restyled() {
    this.changed("style");
  }

  changed(what) {
    if (what === "source") {
      this.bar.update();
      this.panel.build();
    }
    if (what === "style") this.panel.build();
    if (what === "profile" || what === "structure") {
      this.bar.update();
      this.panel.update();
    }
    if (what === "readout") {
      this.foot.update();
      this.panel.values();
    }
    this.redraw();
  }

  redraw() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw() {
    document.documentElement.dataset.state = "busy";
    for (const { layer } of this.scene.panes()) {
      const asked = `${layer.channels()} ${layer.style.mode} ${layer.draft}`;
      if (layer.asked !== asked) {
        layer.asked = asked;
        this.#asking += 1;
        layer.ask(() => {
          this.#asking -= 1;
          this.redraw();
        });
      }
    }
    this.basemap.draw(this.scene);
    this.scene.draw();
    this.overlay.draw(this);
    this.#placeDivider();
    this.panel.update();
    this.foot.update();
    this.notices.failures(this.scene.failures);
    if (!api.embedded) writeState(this);
    this.progress.watch();
    const busy = this.tiles.pending().count || this.#asking || this.readout.busy;
    document.documentElement.dataset.state = busy ? "busy" : "idle";
    document.documentElement.dataset.draft = String(this.tiles.drafts().length > 0);
  }

  #placeDivider() {
    const { layout, swipe, layers } = this.scene;
    this.divider.hidden = layout === "single" || layers.length < 2;
    this.divider.classList.toggle("fixed", layout === "side");
    this.divider.style.left = `${(layout === "side" ? 0.5 : swipe) * 100}%`;
    this.divider.setAttribute("aria-valuenow", Math.round(swipe * 100));
  }
}
