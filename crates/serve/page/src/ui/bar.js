// The bar at the top: the raster, tools, and the layout.

import { embedded } from "../api.js";
import { button, field, h, select } from "../dom.js";
import { help } from "./help.js";

const LAYOUTS = { single: "One raster", side: "Side by side", swipe: "Swipe" };

export class Bar {
  constructor(element, app) {
    Object.assign(this, { element, app });
  }

  build() {
    const { app } = this;
    const names = Object.fromEntries(app.sources.map(({ id, name, ok }) => [id, ok === false ? `${name} (cannot be opened)` : name]));
    const several = app.sources.length > 1;
    this.first = select("source", names, "", (id) => app.show(app.source(id).id));
    this.second = select("second", names, "", (id) => app.compare(app.scene.layout, id));
    this.layout = select("layout", LAYOUTS, "single", (layout) => app.compare(layout));
    const { camera } = app.scene;
    const zoom = (factor) => {
      const [pane] = app.scene.panes();
      if (pane) camera.zoomAt(pane.view, factor, pane.view.x + pane.view.w / 2, pane.view.y + pane.view.h / 2);
      app.moved();
    };
    this.map = button("Map", () => app.place(!app.onMap), { id: "map" });
    this.structure = button("Blocks", () => app.structure.toggle(), { id: "blocks", title: "Show the file's blocks and their compressed sizes" });
    this.profile = button("Profile", () => (app.profile.active ? app.profile.clear() : app.profile.start()), {
      id: "profile",
      title: "Values along a line: click two points, or press P at the cross",
    });
    this.settings = button("Settings", () => this.toggle(), { id: "settings", "aria-controls": "panel" });
    this.name = h("strong", { class: "name" });
    this.secondField = field("with", this.second);
    this.element.replaceChildren(
      ...[
      h("span", { class: "brand" }, "strile"),
      several ? field("Raster", this.first) : this.name,
      several && h("span", { class: "group" }, field("Layout", this.layout), this.secondField),
      h(
        "span",
        { class: "tools" },
        h(
          "span",
          { class: "group", role: "group", "aria-label": "Zoom" },
          button("−", () => zoom(0.5), { id: "zoom-out", "aria-label": "Zoom out", title: "Zoom out (−)" }),
          button("+", () => zoom(2), { id: "zoom-in", "aria-label": "Zoom in", title: "Zoom in (+)" }),
          button("Fit", () => app.fit(), { id: "fit", title: "Show the whole raster (0)" }),
          button("1:1", () => this.#exact(), { id: "exact", title: "One raster pixel per screen pixel (1)" }),
        ),
        !embedded && this.map,
        !embedded && this.structure,
        this.profile,
        this.settings,
        button("?", () => help(), { id: "help", title: "Keys and mouse", "aria-label": "Help: keys and mouse" }),
      ),
      ].filter(Boolean),
    );
    this.toggle(innerWidth >= 700);
  }

  #exact() {
    this.app.scene.camera.zoom = 1 / (devicePixelRatio || 1);
    this.app.moved();
  }

  /** Opens or closes the panel. */
  toggle(open = document.body.classList.contains("closed")) {
    document.body.classList.toggle("closed", !open);
    this.settings.setAttribute("aria-expanded", String(open));
    this.app.redraw();
  }

  update() {
    const { app } = this;
    const [first, second] = app.scene.layers;
    if (!this.name) return;
    this.name.textContent = first?.name ?? app.sources[0].name;
    this.first.value = String(app.shown ?? first?.source ?? "");
    this.layout.value = app.scene.layout;
    this.second.value = String(second?.source ?? "");
    this.map.setAttribute("aria-pressed", String(app.onMap));
    this.map.disabled = !app.onMap && first?.info.web === false;
    this.map.title = this.map.disabled ? "This raster has no place on a web map" : "Show in Web Mercator, as web maps do";
    for (const tool of [this.structure, this.profile]) tool.disabled = app.onMap;
    this.secondField.hidden = app.scene.layout === "single";
    this.structure.setAttribute("aria-pressed", String(app.structure.on));
    this.profile.setAttribute("aria-pressed", String(app.profile.active || app.profile.points.length > 0));
  }
}
