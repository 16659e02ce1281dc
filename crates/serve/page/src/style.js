// How a raster is coloured. Changes of a style need no request unless a band is missing.

import { isComplex, rangeOf } from "./samples.js";

export const STRETCHES = {
  percentile: "Percentiles 2–98",
  minmax: "Minimum–maximum",
  sigma: "Mean ± 2σ",
  type: "Range of the type",
  manual: "Manual",
};
export const FORMULAS = {
  normalized: "(a − b) / (a + b)",
  quotient: "a / b",
  difference: "a − b",
};
export const PARTS = { magnitude: "Magnitude", phase: "Phase", real: "Real part", imaginary: "Imaginary part" };
export const MODES = { grey: "One band", rgb: "Red, green, blue", ratio: "Two bands", palette: "Palette" };

/** Modes that a raster has. */
export function modesOf(info) {
  const complex = isComplex(info.dtype);
  return Object.keys(MODES).filter((mode) => {
    if (mode === "palette") return Boolean(info.palette?.length);
    if (mode === "ratio") return info.bands.length >= 2 && !complex;
    return mode === "grey" || info.bands.length >= 2;
  });
}

/** Bands of the colours, by what the file says of them, else the first three. */
function colourBands(info) {
  const named = (word) => info.bands.findIndex((band) => (band.colour ?? "").toLowerCase() === word) + 1;
  const found = ["red", "green", "blue"].map(named);
  if (found.every((band) => band > 0)) return found;
  return [1, Math.min(2, info.bands.length), Math.min(3, info.bands.length)];
}

/** Whether the bands are meant as red, green and blue. */
function isColour(info) {
  if (/rgb|ycbcr/i.test(info.photometric ?? "")) return info.bands.length >= 3;
  return info.bands.length >= 3 && info.bands.some((band) => (band.colour ?? "").toLowerCase() === "red");
}

/** Red and near infrared, by their names, for NDVI. */
function ratioBands(info) {
  const find = (pattern) => info.bands.findIndex((band) => pattern.test(`${band.name ?? ""} ${band.description ?? ""}`)) + 1;
  const [infrared, red] = [find(/\b(nir|near.?infrared|b0?8)\b/i), find(/\b(red|b0?4)\b/i)];
  if (infrared && red) return [infrared, red];
  return info.bands.length >= 4 ? [4, 1] : [Math.min(2, info.bands.length), 1];
}

export function defaultStyle(info) {
  const colour = isColour(info);
  const mode = info.palette?.length ? "palette" : colour ? "rgb" : "grey";
  const bytes = info.dtype === "uint8";
  return {
    mode,
    grey: 1,
    rgb: colourBands(info),
    ratio: ratioBands(info),
    formula: "normalized",
    part: "magnitude",
    stretch: bytes && colour ? "type" : "percentile",
    /** [low, high] per channel; empty where not known yet. */
    limits: [],
    gamma: 1,
    ramp: "grey",
    reversed: /white/i.test(info.photometric ?? ""),
    nodata: { transparent: true, colour: "#808080" },
    shade: { on: false, azimuth: 315, altitude: 45, exaggeration: 1 },
  };
}

/** Bands that a style draws, one per channel. */
export function channels(style) {
  return { grey: [style.grey], palette: [style.grey], rgb: style.rgb, ratio: style.ratio }[style.mode];
}

/** Channels that are stretched: one but in colour. */
export function stretched(style) {
  return style.mode === "rgb" ? 3 : 1;
}

/** Limits [low, high] of a channel by its statistics; `null` where they say nothing. */
export function limitsBy(stretch, figures, dtype) {
  if (stretch === "type" && rangeOf(dtype)) return rangeOf(dtype);
  if (!figures) return null;
  const { min, max, mean, std, percentiles } = figures;
  let limits = [min, max];
  if (stretch === "percentile" && percentiles) limits = [percentiles["2"], percentiles["98"]];
  if (stretch === "sigma") limits = [Math.max(mean - 2 * std, min), Math.min(mean + 2 * std, max)];
  limits = limits.map(Number);
  if (!limits.every(Number.isFinite)) return null;
  // A constant, or one but for a few pixels: all of its range.
  if (limits[0] === limits[1]) limits = [Number(min), Number(max)];
  return limits[0] === limits[1] ? [limits[0] - 0.5, limits[1] + 0.5] : limits;
}
