// The chart of values along a line.

import { button, h } from "../dom.js";
import { short } from "../format.js";
import { bandName } from "./foot.js";

const HEIGHT = 130;

export function profile(app) {
  const canvas = h("canvas", { class: "chart", role: "img", "aria-label": "Values along the line" });
  const text = h("p", { class: "quiet" });
  const tool = app.profile;
  let drawn = null;
  canvas.addEventListener("pointermove", (event) => {
    if (!tool.result?.values) return;
    const share = event.offsetX / canvas.clientWidth;
    tool.marked = Math.min(Math.max(share, 0), 1);
    drawn = null;
    app.redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    tool.marked = null;
    app.redraw();
  });
  const update = () => {
    canvas.hidden = !tool.result?.values;
    text.textContent = words(app);
    if (tool.result?.values && drawn !== tool.result) {
      drawn = tool.result;
      chart(canvas, tool.result.values);
    }
  };
  const row = h("div", { class: "row" }, button("Draw a line", () => tool.start(), { id: "profile-start" }), button("Clear", () => tool.clear()));
  return { content: h("div", {}, row, canvas, text), update };
}

function words({ profile: tool, scene }) {
  const { result, points } = tool;
  if (result?.error) return `Cannot read the line: ${result.error.message}`;
  if (result?.values) {
    const numbers = result.values.filter((value) => typeof value === "number" && Number.isFinite(value));
    const { info } = scene.layers[0];
    const ends = numbers.length ? `${short(smallest(numbers))} to ${short(largest(numbers))}` : "no valid value";
    const at = tool.marked === null ? "" : ` · here ${short(result.values[Math.round(tool.marked * (result.values.length - 1))])}`;
    const draft = result.draft ? ", of a draft" : "";
    return `${bandName(info, result.band)}: ${result.values.length} values, ${ends}${draft}${at}`;
  }
  if (points.length === 1) return "Click the end of the line.";
  if (points.length === 2) return "Reading…";
  return tool.active ? "Click the start of the line." : "Draw a line to see the values along it.";
}

const smallest = (numbers) => numbers.reduce((a, b) => Math.min(a, b));
const largest = (numbers) => numbers.reduce((a, b) => Math.max(a, b));

function chart(canvas, values) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth || 240;
  Object.assign(canvas, { width: width * ratio, height: HEIGHT * ratio });
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  const numbers = values.filter((value) => typeof value === "number" && Number.isFinite(value));
  if (!numbers.length) return;
  const [low, high] = [smallest(numbers), largest(numbers)];
  const span = high - low || 1;
  const style = getComputedStyle(canvas);
  context.strokeStyle = style.color;
  context.fillStyle = style.color;
  context.lineWidth = 1.5;
  context.beginPath();
  let down = false;
  values.forEach((value, index) => {
    if (typeof value !== "number" || !Number.isFinite(value)) {
      down = false;
      return;
    }
    const x = (index / Math.max(values.length - 1, 1)) * (width - 2) + 1;
    const y = HEIGHT - 16 - ((value - low) / span) * (HEIGHT - 32);
    if (down) context.lineTo(x, y);
    else context.moveTo(x, y);
    down = true;
  });
  context.stroke();
  context.font = "11px system-ui, sans-serif";
  context.fillText(short(high), 2, 11);
  context.fillText(short(low), 2, HEIGHT - 3);
}
