// Hillshade: light from the north-west over the heights of one band.

import { checkbox, field, h, slider } from "../dom.js";

export function shade(app, layer) {
  const { style } = layer;
  if (style.mode !== "grey" || layer.complex) return { content: null };
  const set = (change) => {
    Object.assign(style.shade, change);
    app.redraw();
  };
  const strength = (value) => set({ exaggeration: 10 ** value });
  return {
    content: h(
      "div",
      {},
      checkbox("shade", "Shade by slope", style.shade.on, (on) => set({ on })),
      field("Exaggeration", slider("exaggeration", Math.log10(style.shade.exaggeration), { min: -2, max: 3, step: 0.05 }, strength)),
      field("Light from (°)", slider("azimuth", style.shade.azimuth, { min: 0, max: 360, step: 5 }, (azimuth) => set({ azimuth }))),
      field("Altitude (°)", slider("altitude", style.shade.altitude, { min: 5, max: 90, step: 5 }, (altitude) => set({ altitude }))),
    ),
  };
}
