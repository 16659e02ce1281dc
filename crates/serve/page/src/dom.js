// Elements in one line.

/** Makes an element. Properties that start with `on` are listeners; `class`, `aria-*`, `role` and `for` are attributes. */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class" || key === "role" || key === "for" || key.includes("-")) element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let count = 0;
/** A control with its label before it. */
export function field(label, control) {
  const labelled = control.querySelector?.("input") ?? control;
  labelled.id ||= `field-${(count += 1)}`;
  return h("div", { class: "field" }, h("label", { for: labelled.id }, label), control);
}

export function select(id, options, value, changed) {
  const items = Object.entries(options).map(([key, text]) => h("option", { value: key }, text));
  const made = h("select", { id, onchange: () => changed(made.value) }, items);
  made.value = value;
  return made;
}

/** A box for a number; what is not one is not taken. */
export function number(id, value, changed, more = {}) {
  const take = () => {
    const given = made.valueAsNumber;
    if (Number.isFinite(given)) changed(given);
  };
  const made = h("input", { id, type: "number", step: "any", onchange: take, ...more });
  made.value = String(value);
  return made;
}

export function slider(id, value, { min, max, step }, changed) {
  const made = h("input", { id, type: "range", min, max, step, oninput: () => changed(made.valueAsNumber) });
  made.value = String(value);
  return made;
}

export function checkbox(id, label, checked, changed) {
  const made = h("input", { id, type: "checkbox", checked, onchange: () => changed(made.checked) });
  return h("label", { class: "check" }, made, label);
}

export function button(text, onclick, more = {}) {
  return h("button", { type: "button", onclick, ...more }, text);
}
