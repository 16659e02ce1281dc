// A small server with the interface of `strile view`, over rasters that are formulas: for the page's own tests.

import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { readFile } from "node:fs/promises";

const TILE = 256;
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";

/**
 * A raster: `at(band, x, y)` with bands from 1; `valid(x, y)`; `fails(level, column, row)`; `draft()` is the number of the draft that
 * reduced levels show, 0 once they are made; `map` is the raster in Web Mercator.
 */
export function raster(name, { width = 1000, height = 700, bands = 1, dtype = "uint8", array = Uint8Array, at, scales = [1, 2], info: told, ...more }) {
  const levels = scales.map((scale, level) => ({
    level,
    width: Math.ceil(width / scale),
    height: Math.ceil(height / scale),
    scale_x: scale,
    scale_y: scale,
    tile_width: 256,
    tile_height: 256,
    stored: !more.made?.includes(level),
  }));
  const info = {
    width,
    height,
    bands: Array.from({ length: bands }, (_, index) => ({ name: `band ${index + 1}` })),
    dtype,
    photometric: bands >= 3 ? "rgb" : "min-is-black",
    levels,
    mask: more.valid ? "nodata" : "none",
    metadata: {},
    text: "",
    codec: "deflate",
    size_bytes: 1234,
    ...told,
  };
  return { name, info, at, array, ...more };
}

function tileOf(one, level, column, row, bands) {
  const { scale_x: scale, width, height } = one.info.levels[level];
  const [w, h] = [Math.min(TILE, width - column * TILE), Math.min(TILE, height - row * TILE)];
  const parts = one.info.dtype.startsWith("complex") ? 2 : 1;
  const data = new one.array(w * h * bands.length * parts);
  const mask = one.valid ? new Uint8Array(w * h) : null;
  let index = 0;
  for (const band of bands) {
    for (let y = 0; y < h; y += 1) {
      for (let x = 0; x < w; x += 1) {
        const place = [(column * TILE + x) * scale, (row * TILE + y) * scale];
        for (const value of [one.at(band, ...place)].flat()) data[index++] = value;
        if (mask) mask[y * w + x] = one.valid(...place) ? 255 : 0;
      }
    }
  }
  const headers = { "X-Width": w, "X-Height": h, "X-Bands": bands.length, "X-Dtype": one.info.dtype, "X-Mask": mask ? "bytes" : "none" };
  return [Buffer.concat([Buffer.from(data.buffer), mask ?? Buffer.alloc(0)]), headers];
}

function statistics(one, band) {
  const values = [];
  const step = Math.ceil(one.info.width / 150);
  for (let y = 0; y < one.info.height; y += step) {
    for (let x = 0; x < one.info.width; x += step) if (!one.valid || one.valid(x, y)) values.push(Number(one.at(band, x, y)));
  }
  values.sort((a, b) => a - b);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const std = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
  const percent = (share) => values[Math.min(Math.floor(share * values.length), values.length - 1)];
  const [min, max] = [values[0], values.at(-1)];
  const counts = new Array(64).fill(0);
  for (const value of values) counts[Math.min(Math.floor(((value - min) / (max - min || 1)) * 64), 63)] += 1;
  return { band, min, max, mean, std, percentiles: { 2: percent(0.02), 98: percent(0.98) }, histogram: { counts, from: min, to: max } };
}

/** The data of a page that holds a raster itself. */
export function held(one, tiles) {
  const bands = one.info.bands.map((_, index) => index + 1);
  const packed = tiles.map(([level, column, row]) => {
    const [body, headers] = tileOf(one, level, column, row, bands);
    const tile = { width: headers["X-Width"], height: headers["X-Height"], dtype: headers["X-Dtype"], mask: headers["X-Mask"], bands };
    return [`${level}/${column}/${row}`, { ...tile, data: gzipSync(body).toString("base64") }];
  });
  const levels = one.info.levels.filter(({ level }) => tiles.some(([own]) => own === level));
  return { name: one.name, info: { ...one.info, levels }, statistics: bands.map((band) => statistics(one, band)), tiles: Object.fromEntries(packed) };
}

/** Starts a server for rasters; `log` has what was asked. */
export async function serve(rasters, pageFolder) {
  const log = [];
  const progress = new Map();
  const answer = async (path, query) => {
    if (path === "") path = "index.html";
    if (!path.startsWith("api/")) {
      return [200, await readFile(new URL(path, pageFolder)), { "Content-Type": TYPES[path.slice(path.lastIndexOf("."))] ?? "text/plain" }];
    }
    const [, id, call, ...rest] = path.split("/");
    if (id === "sources") return [200, rasters.map(({ name, error }, index) => ({ id: index, name, ok: !error, error }))];
    if (id === "stats") return [200, { requests: log.length, bytes_read: 1000 }];
    if (id === "close") return [204, ""];
    const onMap = id.endsWith("@web");
    const one = onMap ? rasters[id.slice(0, -4)].map : rasters[id];
    if (!one) return [422, { error: "cannot show it in Web Mercator" }];
    const number = (name) => Number(query.get(name));
    const bands = () => (query.get("bands") ?? "1").split(",").map(Number);
    if (call === "info") await one.opens?.();
    if (call === "info") return [200, { web: Boolean(one.map), ...one.info }];
    const draft = one.draft?.();
    if (call === "progress" && draft) return [200, { level: 1, done: 0.4, under_way: true, draft }];
    if (call === "progress") return [200, progress.get(id) ?? { level: 0, done: 1 }];
    if (call === "statistics" && draft) return [200, bands().map((band) => ({ ...statistics({ ...one, at: () => draft }, band), draft }))];
    if (call === "statistics") return one.unstatistical ? [422, { error: "cannot compute statistics" }] : [200, bands().map((band) => statistics(one, band))];
    if (call === "value") {
      const values = one.info.bands.map((_, index) => one.at(index + 1, number("x"), number("y")));
      const text = JSON.stringify({ values, x: 500000 + number("x"), y: 4000000 - number("y"), lon: 9.5, lat: -36.1 }, (_, value) => (typeof value === "bigint" ? `§${value}§` : value));
      return [200, Buffer.from(text.replace(/"§(-?\d+)§"/g, "$1"))];
    }
    if (call === "profile") {
      const values = Array.from({ length: 50 }, (_, index) => one.at(number("band"), Math.round(number("x0") + ((number("x1") - number("x0")) * index) / 49), number("y0")));
      return [200, { values, distance: values.map((_, index) => index) }];
    }
    if (call === "structure") {
      const count = number("columns") * number("rows");
      return [200, { codec: one.info.codec, block_width: 256, block_height: 256, columns: number("columns"), rows: number("rows"), bytes: Array.from({ length: count }, (_, index) => 1000 * index) }];
    }
    const [level, column, row] = rest.map(Number);
    await one.wait?.(level);
    if (one.delay) {
      for (const done of [0.2, 0.6]) {
        progress.set(id, { level, done });
        await new Promise((resolve) => setTimeout(resolve, one.delay / 2));
      }
      progress.set(id, { level, done: 1 });
    }
    if (one.fails?.(level, column, row)) {
      return [422, { error: "cannot decode a block: the stream ends early", block: { level, column, row, plane: 0 }, codec: "deflate" }];
    }
    if (draft && level > 0) {
      const [body, headers] = tileOf({ ...one, at: () => draft }, level, column, row, bands());
      return [200, body, { ...headers, "X-Draft": draft }];
    }
    return [200, ...tileOf(one, level, column, row, bands())];
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://x");
    const path = pathname.replace(/^\/token\//, "");
    log.push(path + (searchParams.size ? `?${searchParams}` : ""));
    const [status, body, headers = {}] = await answer(path, searchParams).catch((error) => [404, { error: error.message }]);
    const raw = Buffer.isBuffer(body) || typeof body === "string";
    response.writeHead(status, { "Content-Type": "application/json", "Content-Security-Policy": CSP, "Cache-Control": "no-store", ...headers });
    response.end(raw ? body : JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => {
    server.closeAllConnections();
    server.close(resolve);
  });
  return { address: `http://127.0.0.1:${server.address().port}/token/`, log, close };
}
