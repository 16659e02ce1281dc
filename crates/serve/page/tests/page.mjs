// The page against the mock server: what it draws and asks for.

import { equal, near, ok, test } from "./harness.mjs";
import { raster, serve } from "./mock.mjs";
import { Tab } from "./browser.mjs";

const ramp = (band, x, y) => (x * 3 + y * 5 + band * 1000) % 60000;

export function pageTests({ browser, folder, out }) {
  const on = (name, rasters, work, options = {}) =>
    test(`page/${name}`, async () => {
      const server = await serve(rasters, folder);
      try {
        const tab = await Tab.open(await browser(), server.address + (options.hash ?? ""), { out, ...options });
        try {
          await work(tab, server);
          await tab.shot(name);
        } catch (error) {
          await tab.shot(`${name}-failed`).catch(() => {});
          error.message += tab.errors.length ? ` (the page says: ${tab.errors.join("; ")})` : "";
          tab.errors = [];
          throw error;
        } finally {
          await tab.close();
        }
      } finally {
        await server.close();
      }
    });
  const grey = (value, low, high) => Math.round(Math.min(Math.max((value - low) / (high - low), 0), 1) * 255);

  const types = {
    uint8: [Uint8Array, (_, x, y) => (x + 2 * y) % 256],
    int8: [Int8Array, (_, x, y) => ((x + 2 * y) % 256) - 128],
    uint16: [Uint16Array, ramp],
    int16: [Int16Array, (_, x, y) => x * 7 - y * 9],
    uint32: [Uint32Array, (_, x, y) => 4_000_000_000 + x * 3 - y],
    int32: [Int32Array, (_, x, y) => -2_000_000_000 + x * 3 - y],
    float32: [Float32Array, (_, x, y) => Math.sin(x / 90) * 40 + y / 10],
    float64: [Float64Array, (_, x, y) => 1.7e9 + x / 4 + y],
    uint64: [BigUint64Array, (_, x, y) => 2n ** 50n + BigInt(x * 2 + y)],
  };
  const typed = Object.entries(types).map(([dtype, [array, at]]) => raster(`${dtype}.tif`, { dtype, array, at, width: 500, height: 400 }));
  on("draws_every_type", typed, async (tab) => {
    for (const [index, [dtype, [, at]]] of Object.entries(types).entries()) {
      await tab.choose("source", index);
      await tab.look(300, 200, 1);
      const [low, high] = [await tab.number("low"), await tab.number("high")];
      const pixels = [[300, 200], [250, 255], [256, 256], [410, 260]];
      const drawn = await tab.colours(pixels);
      pixels.forEach(([x, y], i) => near(drawn[i][0], grey(Number(at(1, x, y)), low, high), 1.01, `${dtype} at ${x},${y}`));
    }
  });

  const scene = raster("scene.tif", { bands: 4, at: (band, x, y) => (x * band + y) % 256 });
  on("bands_and_stretch_change_without_a_request", [scene], async (tab, { log }) => {
    await tab.look(300, 200, 1);
    const [colour] = await tab.colours([[300, 200]]);
    equal(colour, [500 % 256, 800 % 256, 1100 % 256], "red, green, blue");
    const tiles = () => log.filter((path) => path.includes("/tile/")).length;
    const before = tiles();
    await tab.choose("band-red", 4);
    equal((await tab.colours([[300, 200]]))[0], [1400 % 256, 800 % 256, 1100 % 256], "another band");
    await tab.choose("stretch", "minmax");
    await tab.choose("mode", "ratio");
    await tab.choose("ramp", "grey");
    const [low, high] = [await tab.number("low"), await tab.number("high")];
    const [a, b] = [1400 % 256, 500 % 256];
    near((await tab.colours([[300, 200]]))[0][0], grey((a - b) / (a + b), low, high), 1.01, "(a − b) / (a + b)");
    await tab.choose("mode", "grey");
    await tab.type("low", 0);
    await tab.type("high", 510);
    equal(await tab.page.$eval("#stretch", (field) => field.value), "manual");
    near((await tab.colours([[300, 200]]))[0][0], 122, 1, "manual limits");
    await tab.type("gamma", 1);
    near((await tab.colours([[300, 200]]))[0][0], 255 * Math.sqrt(244 / 510), 1.5, "gamma 2");
    await tab.section("Hillshade");
    await tab.click("shade");
    equal(tiles(), before, "requests for tiles");
  });

  on("many_bands_are_asked_for_as_they_are_shown", [raster("64.tif", { bands: 64, dtype: "uint16", array: Uint16Array, at: ramp, info: { photometric: "min-is-black" } })], async (tab, { log }) => {
    ok(log.filter((path) => path.includes("/tile/")).every((path) => path.endsWith("?bands=1")), "one band per tile");
    await tab.choose("band", 64);
    await tab.look(10, 10, 1);
    const [low, high] = [await tab.number("low"), await tab.number("high")];
    near((await tab.colours([[20, 30]]))[0][0], grey(ramp(64, 20, 30), low, high), 1.01);
    ok((await tab.point(20, 30)).includes(String(ramp(64, 20, 30))), "the value");
  });

  const broken = raster("broken.tif", { at: (_, x) => x % 256, fails: (level, column, row) => level === 0 && column === 1 && row === 1 });
  on("a_failing_tile_shows_its_error", [broken], async (tab) => {
    await tab.look(384, 384, 1);
    const notice = await tab.text("#notices");
    ok(/the stream ends early.*block column 1, row 1 of level 0.*deflate/.test(notice), `notice: ${notice}`);
    const [inside, beside] = await tab.colours([[384, 400], [200, 300]]);
    ok(inside[0] > inside[1] + 10, `the tile's place is marked, got ${inside}`);
    equal(new Set(beside).size, 1, "the tile beside is drawn grey");
  });

  const holes = raster("holes.tif", { dtype: "float32", array: Float32Array, at: (_, x, y) => (x > 500 ? NaN : x + y), valid: (x) => x > 100 });
  on("nodata_is_transparent_or_coloured", [holes], async (tab) => {
    await tab.look(300, 300, 1);
    const [masked, nan] = await tab.colours([[90, 300], [510, 300]]);
    equal([masked, nan], [[0x15, 0x19, 0x1e], [0x15, 0x19, 0x1e]], "ground");
    await tab.click("transparent");
    await tab.page.$eval("#nodata-colour", (field) => {
      field.value = "#ff0080";
      field.dispatchEvent(new Event("change"));
    });
    await tab.idle();
    equal(await tab.colours([[90, 300], [510, 300]]), [[255, 0, 128], [255, 0, 128]], "colour");
  });

  const palette = [[10, 20, 30], [200, 100, 0], [0, 0, 255, 0]];
  on("palettes", [raster("palette.tif", { at: (_, x) => x % 3, info: { palette, photometric: "palette" } })], async (tab) => {
    await tab.look(300, 300, 4);
    equal(await tab.colours([[300, 300], [301, 300], [302, 300]]), [[10, 20, 30], [200, 100, 0], [0x15, 0x19, 0x1e]]);
  });

  on("complex_numbers", [raster("complex.tif", { dtype: "complex64", array: Float32Array, at: (_, x, y) => [x, -y], unstatistical: true })], async (tab) => {
    await tab.look(300, 300, 1);
    for (const [part, value] of [["magnitude", Math.hypot(320, 310)], ["phase", Math.atan2(-310, 320)], ["real", 320], ["imaginary", -310]]) {
      await tab.choose("part", part);
      const [low, high] = [await tab.number("low"), await tab.number("high")];
      near((await tab.colours([[320, 310]]))[0][0], grey(value, low, high), 1.5, part);
    }
    ok((await tab.point(320, 310)).includes("320 − 310i"), await tab.text("#readout"));
  });

  const wide = raster("int64.tif", { dtype: "int64", array: BigInt64Array, at: (_, x, y) => 9_007_199_254_740_993n + BigInt(x + y) });
  on("values_and_coordinates_under_the_pointer", [wide], async (tab) => {
    await tab.look(300, 300, 1);
    const line = await tab.point(301, 299);
    ok(line.includes("9007199254741593"), `all digits: ${line}`);
    ok(/pixel 301, 299/.test(line) && line.includes("500301.00, 3999701.00") && line.includes("9.500000° E, 36.100000° S"), line);
    await tab.page.focus("#picture");
    await tab.page.keyboard.press("ArrowRight");
    await tab.idle();
    ok(/pixel 380, (299|300)/.test(await tab.text("#readout")), `by keyboard: ${await tab.text("#readout")}`);
  });

  const slow = raster("slow.tif", { at: (_, x) => x % 256, delay: 1500, made: [1] });
  test("page/progress_is_shown_while_a_level_is_made", async () => {
    const server = await serve([slow], folder);
    try {
      const page = await (await browser()).newPage();
      await page.goto(server.address);
      await page.waitForSelector('#notices [data-key="progress"] progress', { timeout: 30_000 });
      equal(await page.$eval("#notices", (element) => element.textContent), "Making reduced level 1 of slow.tif");
      await page.waitForFunction(() => !document.querySelector("#notices progress"), { timeout: 30_000 });
      await page.close();
    } finally {
      await server.close();
    }
  });

  const dates = [1, 2, 3].map((date) => raster(`2024-0${date}.tif`, { dtype: "uint16", array: Uint16Array, at: (_, x) => x + 1000 * date }));
  on("a_folder_has_a_time_slider", [...dates, { name: "notes.tif", error: "not a TIFF file" }], async (tab) => {
    await tab.look(300, 300, 1);
    const limits = [await tab.number("low"), await tab.number("high")];
    await tab.type("time", 2);
    ok((await tab.text(".time output")).startsWith("3 / 4 · 2024-03.tif"), await tab.text(".time output"));
    equal([await tab.number("low"), await tab.number("high")], limits, "limits stay");
    ok((await tab.point(250, 300)).includes("3250"), "the third raster");
    await tab.type("time", 3);
    ok((await tab.text("#notices")).includes("Cannot show notes.tif: not a TIFF file"), await tab.text("#notices"));
  });

  on("two_rasters_side_by_side_and_swiped", [raster("a.tif", { at: () => 10, bands: 3 }), raster("b.tif", { at: () => 200, bands: 3, width: 500, height: 350 })], async (tab) => {
    await tab.choose("layout", "swipe");
    const both = await tab.colours([[200, 350], [800, 350]]);
    equal(both, [[10, 10, 10], [200, 200, 200]], "swiped");
    await tab.page.focus("#divider");
    for (let i = 0; i < 20; i += 1) await tab.page.keyboard.press("ArrowRight");
    await tab.idle();
    equal((await tab.colours([[600, 350]]))[0], [10, 10, 10], "moved");
    await tab.choose("layout", "side");
    const line = await tab.page.$eval("#picture", (canvas) => canvas.clientWidth);
    ok(line > 0, "a canvas");
  });

  on("profiles_and_blocks", [raster("blocks.tif", { at: (_, x) => x % 256 })], async (tab, { log }) => {
    await tab.look(300, 300, 1);
    await tab.click("profile");
    for (const [x, y] of [[100, 300], [200, 300]]) {
      const [left, top] = await tab.place(x, y);
      await tab.page.mouse.click(left, top);
    }
    await tab.page.waitForFunction(() => /50 values, 10[01] to 20[01]/.test(document.querySelector('[data-section="Profile"]').textContent), { timeout: 30_000 });
    await tab.click("blocks");
    await tab.page.waitForFunction(() => /Level 0, 256 × 256 blocks, \d+ visible, deflate/.test(document.querySelector("#structure-text").textContent), { timeout: 30_000 });
    ok(log.some((path) => path.startsWith("api/0/structure/0?")), "asked for the structure");
    await tab.idle();
  });

  const gate = {};
  gate.opened = new Promise((resolve) => {
    gate.open = resolve;
  });
  const large = raster("large.tif", { width: 60000, height: 60000, scales: [1, 2, 4, 8, 16, 32, 64, 128], at: (_, x) => x % 256, wait: (level) => level === 0 && gate.opened });
  on("tiles_out_of_sight_are_not_waited_for", [large], async (tab, { finished }) => {
    // No tile of full size comes before the last of five places is looked at.
    await tab.page.evaluate(async () => {
      for (let i = 0; i < 5; i += 1) {
        location.hash = `x=${1000 + i * 4000}&y=30000&zoom=1`;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      }
    });
    gate.open();
    await tab.idle();
    const columns = finished.filter((path) => path.includes("/tile/0/")).map((path) => Number(path.split("/")[4]));
    ok(columns.length > 0 && columns.every((column) => column > 60), `columns ${columns}: those of the last place are 65 to 67`);
  });

  on("works_in_a_small_frame", [scene], async (tab) => {
    const overflow = await tab.page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    equal(overflow, false, "scrolls sideways");
    ok((await tab.page.$eval("#picture", (canvas) => canvas.clientHeight)) > 120, "room for the raster");
    await tab.click("settings");
    ok(await tab.page.$eval("#panel", (panel) => panel.clientWidth > 200), "the panel opens");
  }, { width: 340, height: 300 });

  on("a_server_that_ended_is_reported", [raster("a.tif", { width: 4000, height: 3000, scales: [1, 2, 4, 8], at: (_, x) => x % 256 })], async (tab, server) => {
    await server.close();
    await tab.look(900, 600, 1);
    ok((await tab.text("#notices")).includes("The server does not answer"), await tab.text("#notices"));
  });
}
