// The basemap below a raster on a web map.

import { checkbox, field, h, slider } from "../dom.js";

export function map(app, layer) {
  if (!layer.onMap || !layer.info.basemap) return { content: null };
  const { basemap } = app;
  const shown = checkbox("basemap-on", "Basemap", basemap.on, (on) => {
    basemap.on = on;
    app.redraw();
  });
  const opacity = slider("opacity", basemap.opacity, { min: 0, max: 1, step: 0.05 }, (value) => {
    basemap.opacity = value;
    app.redraw();
  });
  return { content: h("div", {}, shown, field("Raster opacity", opacity)) };
}
