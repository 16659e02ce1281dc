// Facts of the file.

import { h } from "../dom.js";
import { bytes, coordinate } from "../format.js";

export function metadata(app, layer) {
  const { info } = layer;
  const rows = [
    ["Name", layer.name],
    ["Size", `${info.width} × ${info.height} pixels, ${info.bands.length} band${info.bands.length === 1 ? "" : "s"}`],
    ["Type", [info.dtype, info.photometric].filter(Boolean).join(", ")],
    ["Compression", [info.codec, Number.isFinite(info.size_bytes) && bytes(info.size_bytes)].filter(Boolean).join(", ")],
    ["CRS", info.crs ? [info.crs.name, info.crs.code].filter(Boolean).join(" · ") : "none"],
    ["Bounds", info.bounds?.map(coordinate).join(", ")],
    ["Transform", info.transform?.map(coordinate).join(", ")],
    ["Validity", { none: "all pixels are valid", nodata: "nodata value", alpha: "alpha band", mask: "mask" }[info.mask]],
    ["Levels", info.levels.map(({ width, height, stored }) => `${width} × ${height}${stored ? "" : " (made here)"}`).join(", ")],
    ...info.bands.map((band, index) => [`Band ${index + 1}`, aboutBand(band)]),
    ...Object.entries(info.metadata ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  ].filter(([, value]) => value);
  const list = h("dl", {}, rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  return { content: h("div", { class: "scroll" }, list, info.text && h("pre", { tabIndex: 0 }, info.text)) };
}

function aboutBand({ name, description, nodata, unit, scale, offset, colour }) {
  const parts = [description || name, colour, unit && `unit ${unit}`, nodata !== null && nodata !== undefined && `nodata ${nodata}`];
  if ((scale ?? 1) !== 1) parts.push(`scale ${scale}`);
  if ((offset ?? 0) !== 0) parts.push(`offset ${offset}`);
  return parts.filter(Boolean).join(", ");
}
