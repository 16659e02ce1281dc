// Bundles src/ into a folder: node build.mjs FOLDER
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node build.mjs FOLDER");
  process.exit(2);
}
const here = fileURLToPath(new URL(".", import.meta.url));
await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.js" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outdir: resolve(folder),
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/app.css" },
  bundle: true,
  minify: true,
  charset: "utf8",
  outdir: resolve(folder),
  logLevel: "warning",
});
await copyFile(join(here, "src/index.html"), join(folder, "index.html"));
