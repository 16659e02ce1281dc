// A raster that is part of the page: reduced, for notebooks whose browser reaches no server.
//
// `<script id="strile-data" type="application/json">` holds {name, info, statistics, tiles}. `info` lists the levels whose tiles are
// there; `tiles` maps "LEVEL/COLUMN/ROW" to {width, height, dtype, mask, bands, data}, gzipped samples in base64, all bands together.

const ITEM = { bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, float16: 2, int32: 4, uint32: 4, float32: 4, complex64: 8, complex128: 16 };
const NUMBER = {
  bool: (view, at) => view.getUint8(at),
  uint8: (view, at) => view.getUint8(at),
  int8: (view, at) => view.getInt8(at),
  uint16: (view, at) => view.getUint16(at, true),
  int16: (view, at) => view.getInt16(at, true),
  uint32: (view, at) => view.getUint32(at, true),
  int32: (view, at) => view.getInt32(at, true),
  uint64: (view, at) => view.getBigUint64(at, true),
  int64: (view, at) => view.getBigInt64(at, true),
  float32: (view, at) => view.getFloat32(at, true),
  float64: (view, at) => view.getFloat64(at, true),
};
const TILE = 256;
/** Values of a profile. */
const MOST = 512;

const json = (value) => new Response(JSON.stringify(value, (_, one) => (typeof one === "bigint" ? Number(one) : one)));
const refused = (status, error) => new Response(JSON.stringify({ error }), { status });

class Held {
  #bytes = new Map();

  constructor(data) {
    this.data = data;
  }

  /** Answers as `strile view` does. */
  async answer(address) {
    const url = new URL(address, "held:/");
    const [, , id, call, ...rest] = url.pathname.split("/");
    const asked = (name) => Number(url.searchParams.get(name));
    const bands = () => (url.searchParams.get("bands") ?? "1").split(",").map(Number);
    const { name, info, statistics } = this.data;
    if (id === "sources") return json([{ id: 0, name, ok: true }]);
    if (call === "info") return json({ ...info, web: false });
    if (call === "progress") return json({ level: null, done: 1, under_way: false });
    if (call === "statistics") {
      const found = bands().map((band) => statistics.find((one) => one.band === band));
      return found.every(Boolean) ? json(found) : refused(422, "this page has no statistics of these bands");
    }
    if (call === "tile") return this.#tile(rest.join("/"), bands());
    if (call === "value") return json(await this.#value(asked("x"), asked("y")));
    if (call === "profile") return json(await this.#profile(asked));
    return refused(404, "this page has no server: the notebook shows a reduced copy of the raster");
  }

  async #read(key) {
    if (!this.#bytes.has(key)) {
      const { data } = this.data.tiles[key];
      const packed = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      this.#bytes.set(key, new Response(stream).arrayBuffer());
    }
    return this.#bytes.get(key);
  }

  async #tile(key, wanted) {
    const tile = this.data.tiles[key];
    if (!tile) return refused(404, `this page has no tile ${key}`);
    const places = wanted.map((band) => tile.bands.indexOf(band));
    if (places.includes(-1)) return refused(422, `this page has bands ${tile.bands} alone; start a server to see the others`);
    const all = new Uint8Array(await this.#read(key));
    const count = tile.width * tile.height;
    const size = count * (ITEM[tile.dtype] ?? 8);
    const parts = places.map((place) => all.subarray(place * size, (place + 1) * size));
    if (tile.mask === "bytes") parts.push(all.subarray(tile.bands.length * size));
    const headers = { "X-Width": tile.width, "X-Height": tile.height, "X-Bands": wanted.length, "X-Dtype": tile.dtype, "X-Mask": tile.mask };
    return new Response(new Blob(parts), { headers });
  }

  /** Values of all bands at a pixel of the full raster, from the finest level that is here. */
  async #value(x, y) {
    const { info } = this.data;
    const [level] = info.levels;
    const [column, row] = [Math.min(Math.floor(x / level.scale_x), level.width - 1), Math.min(Math.floor(y / level.scale_y), level.height - 1)];
    const key = `${level.level}/${Math.floor(column / TILE)}/${Math.floor(row / TILE)}`;
    const tile = this.data.tiles[key];
    const view = new DataView(await this.#read(key));
    const at = (row % TILE) * tile.width + (column % TILE);
    const [size, count] = [ITEM[tile.dtype] ?? 8, tile.width * tile.height];
    const read = NUMBER[tile.dtype];
    const number = (band) => {
      const place = tile.bands.indexOf(band);
      return read && place >= 0 ? read(view, place * count * size + at * size) : "not in this page";
    };
    const valid = tile.mask !== "bytes" || view.getUint8(tile.bands.length * count * size + at) !== 0;
    const [a, b, c, d, e, f] = info.transform ?? [];
    const [east, north] = [a * (x + 0.5) + b * (y + 0.5) + c, d * (x + 0.5) + e * (y + 0.5) + f];
    const values = info.bands.map((_, index) => number(index + 1)).map((value) => (Number.isNaN(value) ? "nan" : value));
    return { values, valid, column: x, row: y, level: level.level, x: east, y: north };
  }

  async #profile(asked) {
    const [from, to] = [[asked("x0"), asked("y0")], [asked("x1"), asked("y1")]];
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const count = Math.max(Math.min(Math.ceil(length / this.data.info.levels[0].scale_x) + 1, MOST), 2);
    const values = [];
    for (let step = 0; step < count; step += 1) {
      const share = step / (count - 1);
      const found = await this.#value(Math.floor(from[0] + (to[0] - from[0]) * share), Math.floor(from[1] + (to[1] - from[1]) * share));
      const value = found.values[asked("band") - 1];
      values.push(found.valid && typeof value !== "string" ? Number(value) : null);
    }
    return { values, distance: values.map((_, step) => (length * step) / (count - 1)) };
  }
}

const data = globalThis.document?.getElementById("strile-data");

/** The raster of this page; `null` where a server has it. */
export const held = data ? new Held(JSON.parse(data.textContent)) : null;
