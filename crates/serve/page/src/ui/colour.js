// Mode, bands, ramp and nodata.

import { checkbox, field, h, select } from "../dom.js";
import { NAMES, paint } from "../ramps.js";
import { FORMULAS, MODES, modesOf, PARTS } from "../style.js";
import { bandName } from "./foot.js";

export function colour(app, layer) {
  const { style, info } = layer;
  const set = (change) => {
    Object.assign(style, change);
    app.restyled();
  };
  const bandChoice = (id, label, value, changed) => {
    const names = Object.fromEntries(info.bands.map((_, index) => [index + 1, bandName(info, index + 1)]));
    return field(label, select(id, names, value, (band) => changed(Number(band))));
  };
  const replaced = (list, index, band) => list.map((old, at) => (at === index ? band : old));
  const modes = Object.fromEntries(modesOf(info).map((mode) => [mode, MODES[mode]]));
  const rows = [field("Show", select("mode", modes, style.mode, (mode) => set({ mode, ...defaults(mode, style) })))];
  if (style.mode === "grey" && info.bands.length > 1) rows.push(bandChoice("band", "Band", style.grey, (grey) => set({ grey, ...unset(style) })));
  if (style.mode === "rgb") {
    ["Red", "Green", "Blue"].forEach((name, index) => {
      rows.push(bandChoice(`band-${name.toLowerCase()}`, name, style.rgb[index], (band) => set({ rgb: replaced(style.rgb, index, band), ...unset(style) })));
    });
  }
  if (style.mode === "ratio") {
    rows.push(field("Formula", select("formula", FORMULAS, style.formula, (formula) => set({ formula, ...unset(style) }))));
    ["a", "b"].forEach((name, index) => {
      rows.push(bandChoice(`band-${name}`, name, style.ratio[index], (band) => set({ ratio: replaced(style.ratio, index, band), ...unset(style) })));
    });
  }
  if (layer.complex) rows.push(field("Part", select("part", PARTS, style.part, (part) => set({ part, ...unset(style) }))));
  if (style.mode === "grey" || style.mode === "ratio") rows.push(...ramp(style, set));
  if (style.mode === "palette") rows.push(h("p", { class: "quiet" }, `${info.palette.length} colours of the file`));
  rows.push(...nodata(style, set));
  return { content: h("div", {}, rows) };
}

/** Limits set by hand belong to the bands they were set for. */
function unset(style) {
  return style.stretch === "manual" ? { stretch: "percentile", limits: [] } : { limits: [] };
}

function defaults(mode, style) {
  if (mode === "ratio") return { ...unset(style), ramp: style.ramp === "grey" ? "vegetation" : style.ramp };
  return unset(style);
}

function ramp(style, set) {
  const names = Object.fromEntries(NAMES.map((name) => [name, name[0].toUpperCase() + name.slice(1)]));
  const canvas = h("canvas", { class: "ramp", "aria-hidden": "true" });
  paint(canvas, style.ramp, style.reversed);
  return [
    field("Ramp", select("ramp", names, style.ramp, (ramp) => set({ ramp }))),
    canvas,
    checkbox("reversed", "Reversed", style.reversed, (reversed) => set({ reversed })),
  ];
}

function nodata(style, set) {
  const { transparent, colour: chosen } = style.nodata;
  const rows = [
    checkbox("transparent", "Nodata is transparent", transparent, (value) => set({ nodata: { ...style.nodata, transparent: value } })),
  ];
  if (!transparent) {
    const input = h("input", { id: "nodata-colour", type: "color", value: chosen, onchange: () => set({ nodata: { ...style.nodata, colour: input.value } }) });
    rows.push(field("Nodata colour", input));
  }
  return rows;
}
