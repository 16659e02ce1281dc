// `strile view` itself: odd rasters are looked at, and what is drawn and read is compared with `strile dump`.

import { execFileSync, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { Tab } from "./browser.mjs";
import { equal, near, ok, Skip, test } from "./harness.mjs";
import { files, proxy } from "./servers.mjs";

const GROUND = [0x15, 0x19, 0x1e];

/** Starts `strile view`; its address and a way to end it. */
export async function view(strile, files) {
  const child = spawn(strile, ["view", "--no-open", ...files], { stdio: ["ignore", "pipe", "inherit"] });
  process.once("exit", () => child.kill());
  const address = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`strile view ended with ${code}`)));
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = () => {
    child.kill("SIGINT");
    return ended;
  };
  return { address: address.trim(), stop };
}

/** Values of a row of pixels as `strile dump` writes them: by column, texts by band. */
function dumped(strile, file, x, y, width) {
  const text = execFileSync(strile, ["-q", "dump", file, "--window", `${x},${y},${width},1`, "--format", "csv"], { encoding: "utf8" });
  const [, ...lines] = text.trim().split("\n");
  return lines.map((line) => line.split(",").slice(4));
}

/** Whether a line has a text, or for a number with a fraction the same number with more digits. */
function has(line, text) {
  const same = (word) => Math.abs(Number(word) - Number(text)) <= 1e-7 * Math.abs(Number(text));
  return line.includes(text) || (text.includes(".") && (line.match(/-?\d+\.\d+/g) ?? []).some(same));
}

export function strileTests({ browser, strile, rasters, out }) {
  let opened = null;
  /** One server and one tab for all rasters. */
  const open = () =>
    (opened ??= (async () => {
      if (!strile || !rasters) throw new Skip("no program and rasters were given (--strile, --rasters)");
      const names = readdirSync(rasters).filter((name) => /\.(tif|vrt)$/.test(name)).sort();
      const server = await view(strile, names.map((name) => join(rasters, name)));
      const tab = await Tab.open(await browser(), server.address, { out });
      return { server, tab, names };
    })());

  const on = (name, file, work) =>
    test(`strile/${name}`, async () => {
      const { tab, names } = await open();
      tab.errors = [];
      await tab.choose("source", names.indexOf(file));
      await tab.click("fit");
      try {
        await work(tab, join(rasters, file));
      } finally {
        await tab.shot(name).catch(() => {});
      }
      equal(tab.errors, [], "the page says");
    });

  /** Compares a row of pixels: `drawn(values)` gives their colour, `read(values)` what the line at the bottom has. */
  const compare = async (tab, file, { x = 200, y = 150, width = 60, drawn, read = ([value]) => value, tolerance = 1.01 }) => {
    await tab.look(x + width / 2, y, 1);
    const rows = dumped(strile, file, x, y, width);
    const columns = [0, 1, 7, Math.floor(width / 2), width - 1];
    const colours = await tab.colours(columns.map((column) => [x + column, y]));
    for (const [index, column] of columns.entries()) {
      const expected = await drawn(rows[column]);
      expected.forEach((value, channel) => near(colours[index][channel], value, tolerance, `colour of ${x + column},${y}`));
    }
    const line = await tab.point(x + 7, y);
    ok(line.includes(`pixel ${x + 7}, ${y}`), line);
    for (const text of [read(rows[7])].flat()) ok(has(line, text), `expected ${text} in: ${line}`);
  };

  const grey = async (tab, band = 0) => {
    const [low, high] = [await tab.number("low"), await tab.number("high")];
    return (values) => {
      const share = Math.min(Math.max((Number(values[band]) - low) / (high - low), 0), 1);
      return [255 * share, 255 * share, 255 * share];
    };
  };
  const colour = (values) => values.slice(0, 3).map(Number);

  for (const [name, file] of [
    ["strips_without_overviews", "strips.tif"],
    ["south_up", "southup.tif"],
    ["rotated", "rotated.tif"],
    ["big_endian_float64", "big.tif"],
    ["float16", "half.tif"],
    ["int64_with_all_digits", "int64.tif"],
    ["vrt_mosaic", "mosaic.vrt"],
  ]) {
    on(name, file, async (tab, path) => {
      await compare(tab, path, { drawn: await grey(tab) });
    });
  }

  on("cog_with_nodata", "cog.tif", async (tab, path) => {
    const shade = await grey(tab);
    await compare(tab, path, { drawn: shade });
    await compare(tab, path, { x: 280, y: 220, width: 60, drawn: (values) => (values[0] === "-9999" ? GROUND : shade(values)), read: () => "° E" });
    await tab.click("fit");
    await tab.choose("ramp", "terrain");
    await tab.section("Hillshade");
    await tab.click("shade");
  });

  on("sixty_four_bands", "bands64.tif", async (tab, path) => {
    await tab.choose("band", 64);
    await compare(tab, path, { x: 100, y: 100, drawn: await grey(tab, 63), read: (values) => [values[63], "channel 64"] });
  });

  on("complex", "complex.tif", async (tab, path) => {
    const parts = (text) => /^(-?[\d.]+)([+-][\d.]+)j$/.exec(text).slice(1).map(Number);
    const [low, high] = [await tab.number("low"), await tab.number("high")];
    const drawn = ([text]) => {
      const share = Math.min(Math.max((Math.hypot(...parts(text)) - low) / (high - low), 0), 1);
      return [255 * share];
    };
    await compare(tab, path, { x: 330, y: 250, drawn, read: ([text]) => `${parts(text)[0]} + ${parts(text)[1]}i` });
  });

  on("palette", "palette.tif", async (tab, path) => {
    const colours = [[20, 60, 120], [80, 160, 90], [230, 220, 150], [150, 60, 50]];
    await compare(tab, path, { drawn: ([index]) => colours[index], tolerance: 0 });
  });

  on("internal_mask", "masked.tif", async (tab, path) => {
    await compare(tab, path, { x: 290, y: 250, drawn: colour, read: (values) => values, tolerance: 0 });
    await compare(tab, path, { x: 20, y: 20, width: 40, drawn: () => GROUND, read: (values) => values, tolerance: 0 });
  });

  on("alpha", "alpha.tif", async (tab, path) => {
    await compare(tab, path, { x: 280, y: 200, drawn: (values) => (values[3] === "0" ? GROUND : colour(values)), read: (values) => values.slice(0, 3), tolerance: 0 });
  });

  on("white_is_zero", "white.tif", async (tab, path) => {
    await compare(tab, path, { drawn: ([bit]) => (bit === "0" ? [255, 255, 255] : [0, 0, 0]), tolerance: 0 });
  });

  on("jpeg", "jpeg.tif", async (tab, path) => {
    await compare(tab, path, { drawn: colour, read: (values) => values, tolerance: 0 });
  });

  on("a_damaged_block_shows_its_error", "damaged.tif", async (tab) => {
    await tab.look(384, 384, 1);
    const notice = await tab.text("#notices");
    ok(/tiles? cannot be shown/i.test(notice) && /deflate/i.test(notice), `notice: ${notice}`);
    const [inside, beside] = await tab.colours([[384, 420], [240, 384]]);
    ok(inside[0] > inside[1] + 10, `the tile's place is marked, got ${inside}`);
    equal(new Set(beside).size, 1, "the tile beside is grey");
  });

  on("structure_profile_and_metadata", "cog.tif", async (tab) => {
    await tab.click("blocks");
    await tab.page.waitForFunction(() => /256 × 256 blocks, \d+ visible, \w+, [\d.]+ [kM]?B/.test(document.querySelector("#structure-text").textContent), { timeout: 30_000 });
    await tab.look(450, 350, 1);
    await tab.click("profile");
    for (const [x, y] of [[420, 350], [480, 350]]) await tab.page.mouse.click(...(await tab.place(x, y)));
    await tab.page.waitForFunction(() => /\d+ values, [\d.]+ to/.test(document.querySelector('[data-section="Profile"]').textContent), { timeout: 30_000 });
    await tab.section("Metadata");
    const facts = await tab.text('[data-section="Metadata"]');
    ok(facts.includes("EPSG:32632") && facts.includes("900 × 700 pixels") && facts.includes("nodata -9999"), facts);
    await tab.idle();
  });

  // On a web map a pixel shows the pixel of the file that the line at the bottom names.
  for (const [name, file] of [["a_cog_on_a_web_map", "cog.tif"], ["a_mosaic_on_a_web_map", "mosaic.vrt"], ["rotated_on_a_web_map", "rotated.tif"]]) {
    on(name, file, async (tab, path) => {
      await tab.click("map");
      try {
        const shade = await grey(tab);
        const { width, height } = await tab.page.evaluate(async (id) => (await fetch(`api/${id}@web/info`)).json(), await tab.page.$eval("#source", (field) => field.value));
        let seen = 0;
        for (const [across, down] of [[0.5, 0.5], [0.3, 0.45], [0.62, 0.55]]) {
          const [x, y] = [Math.round(width * across), Math.round(height * down)];
          await tab.look(x, y, 1);
          const line = await tab.point(x, y);
          const [, column, row] = /pixel (\d+), (\d+)/.exec(line);
          const [values] = dumped(strile, path, Number(column), Number(row), 1);
          if (values[0] === "-9999") continue;
          ok(has(line, values[0]), `expected ${values[0]} in: ${line}`);
          const [drawn] = await tab.colours([[x, y]]);
          near(drawn[0], shade(values)[0], 1.01, `colour of ${column},${row}`);
          seen += 1;
        }
        ok(seen >= 2, "valid pixels");
      } finally {
        await tab.click("map");
      }
    });
  }

  /** A page of its own over one raster, reached by `address`. */
  const alone = async (name, address, work) => {
    const tab = await Tab.open(await browser(), address, { out });
    try {
      await work(tab);
      await tab.shot(name);
    } finally {
      await tab.close();
    }
  };

  test("strile/remote_file", async () => {
    if (!strile || !rasters) throw new Skip("no program and rasters were given (--strile, --rasters)");
    const served = await files(rasters);
    const server = await view(strile, [`${served.address}/cog.tif`]);
    try {
      await alone("remote_file", server.address, async (tab) => compare(tab, join(rasters, "cog.tif"), { drawn: await grey(tab) }));
      ok(served.asked() > 2, `requests: ${served.asked()}`);
    } finally {
      await server.stop();
      await served.close();
    }
  });

  test("strile/behind_a_proxy_with_a_prefix", async () => {
    if (!strile || !rasters) throw new Skip("no program and rasters were given (--strile, --rasters)");
    const server = await view(strile, [join(rasters, "cog.tif")]);
    const prefix = "/user/me/proxy/8123/";
    const between = await proxy(server.address, prefix);
    try {
      const address = between.address + prefix + new URL(server.address).pathname.slice(1);
      await alone("behind_a_proxy", address, async (tab) => compare(tab, join(rasters, "cog.tif"), { drawn: await grey(tab) }));
    } finally {
      await server.stop();
      await between.close();
    }
  });

  test("strile/ends_with_its_signal", async () => {
    const { server, tab } = await open();
    await tab.page.close();
    await server.stop();
    opened = null;
  });
}
