// What keys and the mouse do.

import { button, h } from "../dom.js";

const ROWS = [
  ["Drag, arrow keys", "move"],
  ["Wheel, pinch, + and −", "zoom"],
  ["Double click", "zoom in; with Shift, zoom out"],
  ["0", "show the whole raster"],
  ["1", "one raster pixel per screen pixel"],
  ["P", "take the cross as a point of the profile"],
  ["Escape", "clear the profile"],
  ["Tab", "go to the raster, the divider and the settings"],
];

/** Shows it in a dialog. */
export function help() {
  const rows = ROWS.map(([keys, what]) => h("tr", {}, h("th", { scope: "row" }, keys), h("td", {}, what)));
  const close = button("Close", () => dialog.close(), { autofocus: true });
  const title = h("h2", { id: "help-title" }, "Keys and mouse");
  const dialog = h("dialog", { "aria-labelledby": "help-title", onclose: () => dialog.remove() }, title, h("table", {}, h("tbody", {}, rows)), close);
  document.body.append(dialog);
  dialog.showModal();
}
