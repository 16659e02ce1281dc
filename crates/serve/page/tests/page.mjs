// The page against the mock server: what it draws and asks for.

import { mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { equal, near, ok, test } from "./harness.mjs";
import { held, raster, serve } from "./mock.mjs";
import { Tab } from "./browser.mjs";

const ramp = (band, x, y) => (x * 3 + y * 5 + band * 1000) % 60000;

export function pageTests({ browser, folder, out }) {
  mkdirSync(out, { recursive: true });
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

  const state = { draft: 20 };
  const drafted = raster("drafted.tif", { bands: 3, at: () => 200, made: [1], draft: () => state.draft });
  on("a_draft_is_drawn_and_replaced", [drafted], async (tab) => {
    const shown = async (value) => {
      await tab.page.waitForFunction((wanted) => document.documentElement.dataset.draft === wanted, { timeout: 30_000 }, String(value !== 200));
      await tab.page.waitForFunction(() => document.documentElement.dataset.state === "idle", { timeout: 30_000 });
      for (let tries = 0; ; tries += 1) {
        const [[red]] = await tab.colours([[500, 350]]);
        if (red === value) return;
        if (tries > 40) throw new Error(`expected ${value}, got ${red}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    await shown(20);
    await tab.page.waitForSelector('#notices [data-key="progress"] progress', { timeout: 30_000 });
    equal(await tab.text("#notices"), "Draft of drafted.tif. It has no overviews: all of it is being read");
    state.draft = 60;
    await shown(60);
    state.draft = 0;
    await shown(200);
    await tab.page.waitForFunction(() => !document.querySelector("#notices progress"), { timeout: 30_000 });
  });

  // A map of zoom 10 over 1000 × 700 pixels, whose corner is that of a tile.
  const pixel = 40075016.68557849 / 256 / 1024;
  const tile = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='256' height='256'%3E%3Crect width='256' height='256' fill='rgb(0,{x},{y})'/%3E%3C/svg%3E#{z}";
  const transform = [pixel, 0, 100 * 256 * pixel - 20037508.342789244, 0, -pixel, 20037508.342789244 - 50 * 256 * pixel];
  const placed = raster("map.tif", { at: () => 90, bands: 3, valid: (x) => x < 300, info: { transform, basemap: tile, crs: { code: "EPSG:3857" } } });
  on("a_web_map_has_a_basemap_where_one_is_named", [raster("own.tif", { at: () => 10, bands: 3, map: placed })], async (tab, { log }) => {
    equal((await tab.colours([[500, 350]]))[0], [10, 10, 10], "its own grid");
    await tab.click("map");
    await tab.look(500, 350, 1);
    ok(log.some((path) => path.startsWith("api/0@web/tile/")), "tiles of the map");
    ok(new URL(tab.page.url()).hash.includes("grid=web"), tab.page.url());
    await tab.page.waitForFunction(() => !document.querySelector("#credit").hidden, { timeout: 30_000 });
    for (let tries = 0; tries < 50; tries += 1) {
      const [own, below] = await tab.colours([[290, 350], [520, 300]]);
      equal(own, [90, 90, 90], "the raster over the map");
      if (below[1] === 102 && below[2] === 51) break;
      if (tries === 49) throw new Error(`expected the basemap's tile 102, 51 where nothing is valid, got ${below}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await tab.click("basemap-on");
    equal((await tab.colours([[520, 300]]))[0], [0x15, 0x19, 0x1e], "without the basemap");
    ok(await tab.page.$eval("#blocks", (button) => button.disabled), "blocks are those of the own grid");
    await tab.click("map");
    equal((await tab.colours([[500, 350]]))[0], [10, 10, 10], "its own grid again");
  });

  on("a_slow_raster_and_help_are_told", [raster("late.tif", { at: () => 10, opens: () => new Promise((resolve) => setTimeout(resolve, 1200)) })], async (tab) => {
    ok(tab.said.includes("Opening late.tif…"), `said: ${tab.said}`);
    equal(await tab.text("#notices"), "", "once it is there");
    ok(await tab.page.$eval("#map", (button) => button.disabled), "no place on a map");
    await tab.click("help");
    ok((await tab.text("dialog")).includes("whole raster"), "keys");
    await tab.page.keyboard.press("Escape");
    await tab.page.waitForFunction(() => !document.querySelector("dialog"), { timeout: 30_000 });
  });

  test("page/holds_a_raster_without_a_server", async () => {
    const one = raster("held.tif", { width: 2000, height: 1400, scales: [1, 4], bands: 5, dtype: "uint16", array: Uint16Array, at: ramp, valid: (x) => x > 100, info: { photometric: "min-is-black", transform: [2, 0, 1000, 0, -2, 5000] } });
    const data = held(one, [[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]]);
    const read = (name) => readFile(new URL(name, folder), "utf8");
    const [html, style, script] = await Promise.all(["index.html", "app.css", "app.js"].map(read));
    const whole = html
      .replace('<link rel="stylesheet" href="app.css">', () => `<style>${style}</style>`)
      .replace('<script type="module" src="app.js"></script>', () => `<script id="strile-data" type="application/json">${JSON.stringify(data)}</script><script type="module">${script}</script>`);
    const page = await (await browser()).newPage();
    const asked = [];
    try {
      page.on("request", (request) => request.url().startsWith("http") && asked.push(request.url()));
      await page.setViewport({ width: 760, height: 500 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
      const frame = `<!doctype html><iframe sandbox="allow-scripts" style="width:740px;height:480px;border:0" srcdoc="${whole.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"></iframe>`;
      await page.setContent(frame);
      const inner = await (await page.waitForSelector("iframe")).contentFrame();
      await inner.waitForFunction(() => document.documentElement.dataset.state === "idle" && document.querySelector("#low"), { timeout: 30_000 });
      await inner.select("#band", "3");
      await inner.waitForFunction(() => document.documentElement.dataset.state === "idle", { timeout: 30_000 });
      const canvas = await inner.$("#picture");
      const box = await canvas.boundingBox();
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await inner.waitForFunction(() => /band 3/.test(document.querySelector("#readout").textContent), { timeout: 30_000 });
      const line = await inner.$eval("#readout", (element) => element.textContent);
      const [, x, y, value] = /pixel (\d+), (\d+).*band 3 (\d+)/.exec(line);
      equal(Number(value), ramp(3, Math.floor(x / 4) * 4, Math.floor(y / 4) * 4), line);
      ok(line.includes("level 1"), `says that the value is that of a reduced level: ${line}`);
      equal(asked, [], "requests");
      await page.screenshot({ path: join(out, "held.png") });
    } finally {
      await page.close();
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
  on("tiles_out_of_sight_are_not_waited_for", [large], async (tab) => {
    // Counted in the browser. The server may answer a request before it notices that the page gave the request up.
    const [waiting, came] = [new Set(), new Set()];
    tab.page.on("request", (request) => waiting.add(request));
    tab.page.on("requestfailed", (request) => waiting.delete(request));
    tab.page.on("requestfinished", (request) => waiting.delete(request) && came.add(request));
    const columns = (requests) => [...requests].map((request) => request.url().split("/tile/0/")[1]).filter(Boolean).map((rest) => Number(rest.split("/")[0]));
    // No tile of full size comes before the last of five places is looked at.
    await tab.page.evaluate(async () => {
      for (let i = 0; i < 5; i += 1) {
        location.hash = `x=${1000 + i * 4000}&y=30000&zoom=1`;
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      }
    });
    // A busy machine may take long to give the tiles of the other places up.
    const given = () => columns(waiting).length > 0 && columns(waiting).every((column) => column > 60);
    for (const end = Date.now() + 30_000; !given() && Date.now() < end;) await new Promise((resolve) => setTimeout(resolve, 20));
    ok(given(), `waits for columns ${columns(waiting)}: those of the last place are 65 to 67`);
    gate.open();
    await tab.idle();
    ok(columns(came).length > 0 && columns(came).every((column) => column > 60), `columns ${columns(came)}: those of the last place are 65 to 67`);
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
