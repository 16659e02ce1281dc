// Runs the tests of the page: node tests/run.mjs [--strile PROGRAM --rasters FOLDER] [--out FOLDER] [NAME…]
//
// xtask/python/make_view_rasters.py makes the rasters. Without them the tests of `strile view` are skipped.

import { parseArgs } from "node:util";
import { resolve } from "node:path";
import { runAll } from "./harness.mjs";
import { chromium, launch } from "./browser.mjs";
import { pageTests } from "./page.mjs";
import { strileTests } from "./strile.mjs";
import "./unit.mjs";

const { values, positionals } = parseArgs({ options: { strile: { type: "string" }, rasters: { type: "string" }, out: { type: "string", default: "screenshots" } }, allowPositionals: true });
const program = await chromium();
if (!program) {
  console.error("error: Chromium is not installed; STRILE_CHROMIUM names it where it lies elsewhere");
  process.exit(2);
}
let started = null;
const browser = () => (started ??= launch(program));
const options = { browser, folder: new URL("../dist/", import.meta.url), out: resolve(values.out), strile: values.strile, rasters: values.rasters };
pageTests(options);
strileTests(options);
let failed = 1;
try {
  failed = await runAll(positionals);
} finally {
  await started?.then((one) => one.close());
}
process.exit(failed ? 1 : 0);
