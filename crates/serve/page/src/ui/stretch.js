// Stretch: how values become brightness, with the histogram.

import { field, h, number, select, slider } from "../dom.js";
import { precise, short } from "../format.js";
import { rangeOf } from "../samples.js";
import { STRETCHES, stretched } from "../style.js";
import { Histogram } from "./histogram.js";

export function stretch(app, layer) {
  const { style, info } = layer;
  if (style.mode === "palette") return { content: null };
  const kinds = Object.fromEntries(Object.entries(STRETCHES).filter(([kind]) => kind !== "type" || (rangeOf(info.dtype) && style.mode !== "ratio" && !layer.complex)));
  const names = style.mode === "rgb" ? ["Red", "Green", "Blue"] : [""];
  const histogram = new Histogram((channel, limits) => set(channel, limits));
  const set = (channel, limits) => {
    style.limits = Array.from({ length: stretched(style) }, (_, index) => (index === channel ? limits : layer.limits()[index] ?? layer.limits()[0]));
    style.stretch = "manual";
    kind.value = "manual";
    app.redraw();
  };
  const change = (value) => {
    style.stretch = value;
    app.redraw();
  };
  const kind = select("stretch", kinds, style.stretch, change);
  const gammaShown = h("output", {}, style.gamma.toFixed(2));
  const gamma = slider("gamma", Math.log2(style.gamma), { min: -2, max: 2, step: 0.05 }, (value) => {
    style.gamma = 2 ** value;
    gammaShown.textContent = style.gamma.toFixed(2);
    app.redraw();
  });
  const boxes = names.map((name, index) => limitBoxes(name, index, layer, set));
  const figures = h("p", { class: "quiet" });
  const update = () => {
    const found = layer.figures(layer.kept ?? []);
    kind.value = style.stretch;
    for (const box of boxes) box.update();
    histogram.draw(found, layer.limits(), style.mode === "rgb");
    figures.textContent = layer.failure
      ? `Statistics: ${layer.failure.message}`
      : found.map((one, index) => one && `${names[index] ? `${names[index]}: ` : ""}min ${short(one.min)}, max ${short(one.max)}, mean ${short(one.mean)}, σ ${short(one.std)}`).filter(Boolean).join(" · ");
  };
  return {
    content: h("div", {}, field("Stretch", kind), histogram.canvas, boxes.map((box) => box.row), field("Gamma", h("span", { class: "pair" }, gamma, gammaShown)), figures),
    update,
  };
}

function limitBoxes(name, index, layer, set) {
  const limits = () => layer.limits()[index] ?? layer.limits()[0];
  const id = name ? `-${name.toLowerCase()}` : "";
  const low = number(`low${id}`, limits()[0], (value) => set(index, [value, limits()[1]]), { "aria-label": `${name} low`.trim() });
  const high = number(`high${id}`, limits()[1], (value) => set(index, [limits()[0], value]), { "aria-label": `${name} high`.trim() });
  const update = () => {
    const span = limits()[1] - limits()[0];
    if (document.activeElement !== low) low.value = precise(limits()[0], span);
    if (document.activeElement !== high) high.value = precise(limits()[1], span);
  };
  return { row: h("div", { class: "limits" }, name && h("span", {}, name), low, h("span", {}, "to"), high), update };
}
