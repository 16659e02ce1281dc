// Tiles as textures: asked for while they are visible, kept as long as there is room.

import * as api from "./api.js";
import { bandTexture, maskTexture } from "./gl/textures.js";
import { decode } from "./samples.js";

/** Requests under way at once; browsers keep six connections to a server, and one is left for values. */
const CONCURRENT = 5;

/** Bytes of textures that are kept. */
const ROOM = (navigator.deviceMemory ?? 8) <= 2 ? 128 * 2 ** 20 : 384 * 2 ** 20;

/** One tile: textures per band, its mask, and what failed. */
class Entry {
  textures = new Map();
  /** Errors by the bands that were asked for. */
  failures = new Map();
  mask = null;
  kind = null;
  width = 0;
  height = 0;
  bytes = 0;
  frame = 0;
  priority = 0;
  asks = null;
  request = null;
  since = 0;
  /** Decoded samples, kept for the tiles that statistics are made of. */
  samples = null;
  /** Which draft of a level it shows; 0 if it is none. */
  draft = 0;

  constructor(key, layer, place) {
    Object.assign(this, { key, layer, place });
  }

  has(bands) {
    return bands.every((band) => this.textures.has(band));
  }
}

export class Tiles {
  #entries = new Map();
  #frame = 0;
  #running = 0;
  bytes = 0;

  constructor(gl, changed, room = ROOM) {
    Object.assign(this, { gl, changed, room });
  }

  begin() {
    this.#frame += 1;
  }

  /** The entry of a visible tile; what it lacks is asked for. Small priorities come first. */
  want(layer, place, bands, priority, keep = false) {
    const key = `${layer.id}/${place.level}/${place.column}/${place.row}`;
    let entry = this.#entries.get(key);
    if (!entry) entry = new Entry(key, layer, place);
    entry.layer = layer;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (entry.frame !== this.#frame || priority < entry.priority) entry.priority = priority;
    entry.frame = this.#frame;
    entry.keep ||= keep;
    // A draft is drawn until a better one has come.
    const stale = entry.draft && entry.draft < layer.draft;
    const missing = layer.request(bands).filter((band) => stale || !entry.textures.has(band));
    entry.asks = (entry.has(bands) && !stale) || entry.failures.has(missing.join()) ? null : missing;
    return entry;
  }

  /** Entries of a layer that hold those bands: [[entry, place]…]. */
  held(layer, bands) {
    return [...this.#entries.values()].filter((entry) => entry.layer.id === layer.id && entry.has(bands));
  }

  /** Stops what is no longer visible, starts what is, frees what is over the limit. */
  end() {
    const waiting = [];
    for (const entry of this.#entries.values()) {
      if (entry.frame !== this.#frame) {
        entry.asks = null;
        entry.request?.abort();
        if (!entry.textures.size && !entry.failures.size) this.#entries.delete(entry.key);
      } else if (entry.asks && !entry.request) {
        waiting.push(entry);
      }
    }
    waiting.sort((one, other) => one.priority - other.priority);
    for (const entry of waiting) {
      if (this.#running >= CONCURRENT) break;
      this.#load(entry, entry.asks);
    }
    for (const entry of this.#entries.values()) {
      if (this.bytes <= this.room) break;
      if (entry.frame !== this.#frame) this.#drop(entry);
    }
  }

  async #load(entry, bands) {
    entry.request = new AbortController();
    entry.since = performance.now();
    this.#running += 1;
    try {
      const { signal } = entry.request;
      const tile = await api.tile(entry.layer.id, { ...entry.place, bands }, signal);
      if (signal.aborted) return;
      this.#keep(entry, decode(tile, bands, entry.layer.bases));
    } catch (error) {
      if (error.name !== "AbortError") entry.failures.set(bands.join(), error);
    } finally {
      entry.request = null;
      this.#running -= 1;
      this.changed(entry);
    }
  }

  #keep(entry, samples) {
    const { gl } = this;
    const { width, height } = samples;
    const before = entry.bytes;
    Object.assign(entry, { width, height });
    if (samples.draft !== entry.draft) this.#empty(entry);
    entry.draft = samples.draft;
    for (const [number, band] of samples.bands) {
      entry.kind = band.kind;
      entry.textures.set(number, bandTexture(gl, width, height, band));
      entry.bytes += band.data.byteLength;
    }
    if (samples.mask && !entry.mask) {
      entry.mask = maskTexture(gl, width, height, samples.mask);
      entry.bytes += samples.mask.byteLength;
    }
    if (entry.keep) {
      const bands = new Map([...(entry.samples?.bands ?? []), ...samples.bands]);
      entry.samples = { ...samples, bands };
    }
    this.bytes += entry.bytes - before;
  }

  #empty(entry) {
    for (const texture of entry.textures.values()) this.gl.deleteTexture(texture);
    if (entry.mask) this.gl.deleteTexture(entry.mask);
    entry.textures.clear();
    Object.assign(entry, { mask: null, samples: null, bytes: 0 });
  }

  #drop(entry) {
    this.bytes -= entry.bytes;
    this.#empty(entry);
    this.#entries.delete(entry.key);
  }

  /** Forgets errors, so that the tiles are asked for again. */
  retry() {
    for (const entry of this.#entries.values()) entry.failures.clear();
  }

  /** Forgets everything: the context was lost, and its textures with it. */
  clear() {
    for (const entry of this.#entries.values()) entry.request?.abort();
    this.#entries.clear();
    this.bytes = 0;
  }

  /** Visible tiles that have not come: how many, and for how long the oldest is under way (ms). */
  pending() {
    const entries = [...this.#entries.values()].filter((entry) => entry.frame === this.#frame && (entry.asks || entry.request));
    const now = performance.now();
    const oldest = Math.max(0, ...entries.filter((entry) => entry.request).map((entry) => now - entry.since));
    return { count: entries.length, oldest, layers: [...new Set(entries.map((entry) => entry.layer))] };
  }

  /** Layers with visible tiles that are drafts. */
  drafts() {
    const entries = [...this.#entries.values()].filter((entry) => entry.frame === this.#frame && entry.draft);
    return [...new Set(entries.map((entry) => entry.layer))];
  }

  get size() {
    return this.#entries.size;
  }
}
