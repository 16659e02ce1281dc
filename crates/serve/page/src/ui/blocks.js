// The structure layer: a switch, what is visible, and what was read so far.

import * as api from "../api.js";
import { checkbox, h } from "../dom.js";
import { bytes } from "../format.js";

export function blocks(app) {
  const text = h("p", { id: "structure-text" });
  const used = h("p", { class: "quiet" });
  let asked = 0;
  const update = () => {
    const [pane] = app.scene.panes();
    text.textContent = app.structure.on && pane ? app.structure.describe(app.scene, pane) : "Borders of the file's blocks, coloured by compressed size.";
    box.querySelector("input").checked = app.structure.on;
    if (!app.structure.on || performance.now() - asked < 2000) return;
    asked = performance.now();
    api.stats().then((stats) => {
      used.textContent = words(stats);
    }, () => {});
  };
  const box = checkbox("structure", "Show blocks", app.structure.on, () => app.structure.toggle());
  return { content: h("div", {}, box, text, used), update };
}

function words(stats) {
  const cached = Object.entries(stats.cache ?? {}).map(([name, value]) => [`cache ${name}`, value]);
  const parts = [...Object.entries(stats), ...cached].filter(([, value]) => typeof value === "number");
  return parts.map(([name, value]) => `${name.replaceAll("_", " ")}: ${name.includes("bytes") ? bytes(value) : value}`).join(" · ");
}
