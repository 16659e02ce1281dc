// The panel at the side: sections that open and close.

import { h, select } from "../dom.js";
import { blocks } from "./blocks.js";
import { colour } from "./colour.js";
import { map } from "./map.js";
import { metadata } from "./metadata.js";
import { profile } from "./profile.js";
import { shade } from "./shade.js";
import { stretch } from "./stretch.js";
import { values } from "./values.js";

const SECTIONS = [
  ["Colour", colour, true],
  ["Stretch", stretch, true],
  ["Hillshade", shade, false],
  ["Map", map, true],
  ["Values", values, false],
  ["Profile", profile, false],
  ["Blocks", blocks, false],
  ["Metadata", metadata, false],
];

export class Panel {
  #open = new Map(SECTIONS.map(([name, , open]) => [name, open]));
  #parts = [];

  constructor(element, app) {
    Object.assign(this, { element, app });
  }

  /** Makes all sections anew; the focus stays where it was. */
  build() {
    const { app } = this;
    if (!app.layer) return;
    const focused = document.activeElement?.id;
    const scrolled = this.element.scrollTop;
    this.#parts = SECTIONS.map(([name, make]) => ({ name, ...make(app, app.layer) })).filter(({ content }) => content);
    const sections = this.#parts.map(({ name, content }) => {
      const section = h("details", { open: this.#open.get(name), ontoggle: () => this.#toggled(name, section.open) }, h("summary", {}, name), content);
      section.dataset.section = name;
      return section;
    });
    this.element.replaceChildren(...this.#choice(), ...sections);
    if (focused) document.getElementById(focused)?.focus();
    this.element.scrollTop = scrolled;
    this.update();
  }

  #toggled(name, open) {
    this.#open.set(name, open);
    this.update();
  }

  /** Opens a section, when a tool needs it. */
  open(name) {
    if (this.#open.get(name)) return;
    this.#open.set(name, true);
    const section = this.element.querySelector(`[data-section="${name}"]`);
    if (!section) return;
    section.open = true;
    section.scrollIntoView({ block: "nearest" });
  }

  #choice() {
    const { app } = this;
    if (app.scene.layers.length < 2) return [];
    const options = Object.fromEntries(app.scene.layers.map(({ name }, index) => [index, `${index ? "Right" : "Left"}: ${name}`]));
    const choose = (index) => {
      app.active = Number(index);
      this.build();
    };
    return [h("div", { class: "choice" }, select("active", options, app.active, choose))];
  }

  update() {
    if (this.app.structure.on) this.open("Blocks");
    if (this.app.profile.points.length || this.app.profile.active) this.open("Profile");
    for (const { name, update } of this.#parts) if (update && this.#open.get(name)) update();
  }

  /** The values under the pointer have changed. */
  values() {
    for (const { name, update } of this.#parts) if (name === "Values" && this.#open.get(name)) update();
  }
}
