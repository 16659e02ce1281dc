// The view in the address, after `#`: it can be reloaded and sent to a colleague.

export function readState(hash = location.hash) {
  const values = new URLSearchParams(hash.slice(1));
  const numbers = ["x", "y", "zoom"].map((name) => Number(values.get(name) ?? NaN));
  const [x, y, zoom] = numbers;
  const placed = numbers.every(Number.isFinite) && zoom > 0;
  const layout = values.get("layout");
  return {
    source: values.get("source") ?? undefined,
    second: values.get("second") ?? undefined,
    onMap: values.get("grid") === "web" || undefined,
    layout: ["side", "swipe"].includes(layout) ? layout : undefined,
    ...(placed ? { x, y, zoom: Math.min(zoom, 256) } : {}),
  };
}

export function writeState({ scene, onMap }) {
  const [first, second] = scene.layers;
  if (!first) return;
  const { x, y, zoom } = scene.camera;
  const values = { source: first.source, x: x.toFixed(2), y: y.toFixed(2), zoom: Number(zoom.toPrecision(7)) };
  if (second && scene.layout !== "single") Object.assign(values, { layout: scene.layout, second: second.source });
  if (onMap) values.grid = "web";
  const hash = `#${new URLSearchParams(values)}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}
