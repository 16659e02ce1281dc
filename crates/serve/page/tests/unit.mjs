// The page's arithmetic, without a browser.

import { compose, invert, mapBox } from "../src/affine.js";
import { Camera } from "../src/camera.js";
import { figures } from "../src/figures.js";
import { chooseLevel, tileBox, tilesIn } from "../src/pyramid.js";
import { decode, rangeOf } from "../src/samples.js";
import { readState } from "../src/state.js";
import { defaultStyle, limitsBy, modesOf } from "../src/style.js";
import { equal, near, ok, test } from "./harness.mjs";

const LEVELS = [1, 2, 4].map((scale, level) => ({ level, width: 1000 / scale, height: 600 / scale, scale_x: scale, scale_y: scale }));

test("unit/affine_maps_invert", () => {
  const map = [2, 0.5, 10, -0.25, -3, 7];
  const same = compose(map, invert(map));
  [1, 0, 0, 0, 1, 0].forEach((expected, index) => near(same[index], expected, 1e-12));
  equal(invert([1, 2, 0, 2, 4, 0]), null);
  equal(mapBox([0, 1, 0, -1, 0, 0], [0, 0, 2, 1]), [0, -2, 1, 0]);
});

test("unit/zoom_keeps_the_pixel_under_the_pointer", () => {
  const camera = Object.assign(new Camera(), { width: 1000, height: 600 });
  const view = { x: 0, y: 0, w: 500, h: 300 };
  camera.fit(view);
  const before = camera.toPixel(view, 120, 80);
  camera.zoomAt(view, 2, 120, 80);
  const after = camera.toPixel(view, 120, 80);
  near(after[0], before[0], 1 / camera.zoom);
  near(after[1], before[1], 1 / camera.zoom);
});

test("unit/the_coarsest_level_with_a_pixel_per_screen_pixel_is_chosen", () => {
  equal([0.5, 1, 1.9, 2, 3, 4, 100].map((density) => chooseLevel(LEVELS, density).level), [0, 0, 0, 1, 1, 2, 2]);
});

test("unit/tiles_cover_the_box_and_no_more", () => {
  equal(tilesIn(LEVELS[0], [250, 0, 513, 256]), { column0: 0, row0: 0, column1: 3, row1: 1 });
  equal(tilesIn(LEVELS[1], [0, 0, 1000, 600]), { column0: 0, row0: 0, column1: 2, row1: 2 });
  equal(tileBox(LEVELS[1], 1, 1), [512, 512, 1000, 600]);
});

function tile(data, dtype, bands = 1, mask = null) {
  const bytes = new Uint8Array(data.buffer, 0, data.byteLength);
  const all = new Uint8Array(bytes.length + (mask?.length ?? 0));
  all.set(bytes);
  if (mask) all.set(mask, bytes.length);
  const width = data.length / bands / (dtype.startsWith("complex") ? 2 : 1);
  return { buffer: all.buffer, width, height: 1, bands, dtype, mask: mask ? "bytes" : "none" };
}

test("unit/samples_of_every_type", () => {
  const read = (data, dtype) => Array.from(decode(tile(data, dtype), [1], new Map()).bands.get(1).data);
  equal(read(Uint8Array.of(1, 255), "uint8"), [1, 255]);
  equal(read(Int8Array.of(-1, 127), "int8"), [-1, 127]);
  equal(read(Uint16Array.of(1, 65535), "uint16"), [1, 65535]);
  equal(read(Int16Array.of(-5, 5), "int16"), [-5, 5]);
  equal(read(Float32Array.of(0.5, -2), "float32"), [0.5, -2]);
  equal(read(Uint16Array.of(0x3c00, 0xc000, 0x0001), "float16"), [1, -2, 2 ** -24]);
  equal(read(Float32Array.of(3, 4), "complex64"), [3, 4]);
  equal(read(Float64Array.of(3, 4), "complex128"), [3, 4]);
});

test("unit/wide_types_keep_small_differences", () => {
  const bases = new Map();
  const data = decode(tile(BigInt64Array.of(2n ** 60n, 2n ** 60n + 3n), "int64"), [1], bases).bands.get(1).data;
  equal([bases.get(1) === 2n ** 60n, ...data], [true, 0, 3]);
  const floats = decode(tile(Float64Array.of(NaN, 1e9, 1e9 + 0.25), "float64"), [2], bases).bands.get(2).data;
  equal([bases.get(2), floats[1], floats[2]], [1e9, 0, 0.25]);
  // Later tiles use the same base.
  equal([...decode(tile(Float64Array.of(1e9 + 1), "float64"), [2], bases).bands.get(2).data], [1]);
  const masked = decode(tile(Float64Array.of(-1e30, 5), "float64", 1, Uint8Array.of(0, 255)), [3], bases);
  equal([bases.get(3), masked.mask[0]], [5, 0]);
});

test("unit/a_tile_of_a_wrong_length_is_an_error", () => {
  for (const bad of [{ ...tile(Uint8Array.of(1, 2, 3), "uint8"), width: 4 }, tile(Uint8Array.of(1), "quaternion")]) {
    let message = "";
    try {
      decode(bad, [1], new Map());
    } catch (error) {
      message = error.message;
    }
    ok(/expected a tile of 4 bytes, got 3|cannot draw samples of type quaternion/.test(message), `got ${message}`);
  }
});

test("unit/limits_by_statistics", () => {
  const values = Array.from({ length: 101 }, (_, index) => index);
  const made = figures(values);
  equal(limitsBy("minmax", made, "float32"), [0, 100]);
  equal(limitsBy("percentile", made, "float32"), [2, 98]);
  near(limitsBy("sigma", made, "float32")[0], 0, 1e-9);
  equal(limitsBy("type", made, "int16"), [-32768, 32767]);
  equal(limitsBy("percentile", figures([7, 7, 7]), "uint8"), [6.5, 7.5]);
  equal(limitsBy("minmax", null, "float32"), null);
  equal(figures([]), null);
  equal(made.histogram.counts.reduce((sum, count) => sum + count), 101);
  equal(rangeOf("float32"), null);
});

test("unit/styles_follow_the_file", () => {
  const bands = (count) => Array.from({ length: count }, (_, index) => ({ name: String(index + 1) }));
  const info = (count, more) => ({ bands: bands(count), dtype: "uint8", photometric: "rgb", ...more });
  equal(defaultStyle(info(3)).mode, "rgb");
  equal(defaultStyle(info(3)).stretch, "type");
  equal(defaultStyle(info(1, { photometric: "min-is-black", dtype: "float32" })).stretch, "percentile");
  equal(defaultStyle(info(1, { palette: [[0, 0, 0]] })).mode, "palette");
  ok(defaultStyle(info(1, { photometric: "min-is-white" })).reversed, "0 is white: the ramp is reversed");
  equal(modesOf(info(1, { photometric: "min-is-black" })), ["grey"]);
  equal(modesOf(info(4)), ["grey", "rgb", "ratio"]);
  const named = info(3, { photometric: "min-is-black", dtype: "uint16" });
  named.bands[2].description = "NIR";
  named.bands[1].description = "Red";
  equal(defaultStyle(named).ratio, [3, 2]);
});

test("unit/addresses_that_make_no_sense_are_ignored", () => {
  equal(readState("#source=2&x=1&y=2&zoom=4"), { source: "2", x: 1, y: 2, zoom: 4 });
  equal(readState("#x=1&y=nan&zoom=4"), {});
  equal(readState("#x=1&y=2&zoom=-4&layout=spiral"), {});
});
