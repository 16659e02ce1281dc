// Mouse, touch and keyboard on the picture.

const STEP = 80;

export function listen(canvas, app) {
  const pointers = new Map();
  let moved = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const { camera } = app.scene;
  const zoom = (factor, x, y) => {
    camera.zoomAt(app.scene.paneAt(x)?.view ?? { x: 0, y: 0, w: 1, h: 1 }, factor, x, y);
    app.moved();
  };
  const middle = () => {
    const view = app.scene.panes()[0]?.view ?? { x: 0, y: 0, w: 0, h: 0 };
    return [view.x + view.w / 2, view.y + view.h / 2];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = pointers.get(event.pointerId);
    app.pointed(x, y);
    if (!before) return;
    moved += Math.hypot(x - before[0], y - before[1]);
    if (pointers.size === 1) {
      camera.pan(x - before[0], y - before[1]);
    } else {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const span = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
      camera.pan((x - before[0]) / 2, (y - before[1]) / 2);
      zoom(span([x, y]) / span(before), (x + other[0]) / 2, (y + other[1]) / 2);
    }
    pointers.set(event.pointerId, [x, y]);
    app.moved();
  });
  const up = (event) => {
    if (pointers.delete(event.pointerId) && moved < 5 && event.type === "pointerup") app.clicked(...at(event));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => app.left());
  canvas.addEventListener("dblclick", (event) => zoom(event.shiftKey ? 0.5 : 2, ...at(event)));
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      zoom(2 ** (Math.max(-200, Math.min(200, -event.deltaY * lines)) / 200), ...at(event));
    },
    { passive: false },
  );

  const keys = {
    ArrowLeft: () => camera.pan(STEP, 0),
    ArrowRight: () => camera.pan(-STEP, 0),
    ArrowUp: () => camera.pan(0, STEP),
    ArrowDown: () => camera.pan(0, -STEP),
    "+": () => zoom(2, ...middle()),
    "=": () => zoom(2, ...middle()),
    "-": () => zoom(0.5, ...middle()),
    0: () => app.fit(),
    1: () => {
      camera.zoom = 1 / (devicePixelRatio || 1);
    },
    p: () => app.markProfile(...middle()),
    Escape: () => app.profile.clear(),
  };
  canvas.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
    app.moved();
    app.pointed(...middle(), true);
  });
}

/** The divider between two rasters: dragged, or moved with arrow keys. */
export function listenDivider(divider, stage, app) {
  const set = (share) => {
    app.scene.swipe = Math.min(Math.max(share, 0), 1);
    app.redraw();
  };
  divider.addEventListener("pointerdown", (event) => divider.setPointerCapture(event.pointerId));
  divider.addEventListener("pointermove", (event) => {
    const box = stage.getBoundingClientRect();
    if (divider.hasPointerCapture(event.pointerId)) set((event.clientX - box.left) / box.width);
  });
  divider.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02 }[event.key];
    if (!step) return;
    event.preventDefault();
    set(app.scene.swipe + step);
  });
}
