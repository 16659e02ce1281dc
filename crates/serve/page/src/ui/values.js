// All bands under the pointer.

import { h } from "../dom.js";
import { exact } from "../format.js";
import { bandName } from "./foot.js";

export function values(app) {
  const table = h("table", { id: "values" });
  const update = () => {
    const { last } = app.readout;
    if (!last || last.error) {
      table.replaceChildren(h("caption", {}, last?.error?.message ?? "Point at the raster."));
      return;
    }
    const { layer, valid } = last;
    const numbers = last.complex ?? last.values;
    const row = (value, index) => {
      const { scale, offset, unit } = layer.info.bands[index] ?? {};
      const scaled = typeof value === "number" && ((scale ?? 1) !== 1 || (offset ?? 0) !== 0);
      const meant = scaled ? ` = ${value * (scale ?? 1) + (offset ?? 0)}` : "";
      return h("tr", {}, h("th", { scope: "row" }, bandName(layer.info, index + 1)), h("td", {}, `${exact(value)}${meant}${unit ? ` ${unit}` : ""}`));
    };
    table.replaceChildren(valid === false ? h("caption", {}, "nodata") : "", h("tbody", {}, numbers.map(row)));
  };
  return { content: h("div", { class: "scroll" }, table), update };
}
