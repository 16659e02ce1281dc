// Runs the tests of the page: node tests/run.mjs [--strile PROGRAM] [--out FOLDER] [NAME…]
//
// Without --strile, the tests against `strile view` are skipped; without Chromium, all that need it.

import { parseArgs } from "node:util";
import { resolve } from "node:path";
import { runAll } from "./harness.mjs";
import { chromium, launch } from "./browser.mjs";
import { pageTests } from "./page.mjs";
import "./unit.mjs";

const { values, positionals } = parseArgs({ options: { strile: { type: "string" }, out: { type: "string", default: "screenshots" } }, allowPositionals: true });
const program = await chromium();
if (!program) {
  console.log("skipped: Chromium is not installed");
  process.exit(1);
}
let started = null;
const browser = () => (started ??= launch(program));
const options = { browser, folder: new URL("../dist/", import.meta.url), out: resolve(values.out), strile: values.strile };
pageTests(options);
let failed = 1;
try {
  failed = await runAll(positionals);
} finally {
  await started?.then((one) => one.close());
}
process.exit(failed ? 1 : 0);
