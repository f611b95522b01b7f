// SPDX-License-Identifier: Apache-2.0
// Elements without markup: what the server tells is only ever put in as text.

function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    return;
  }
  if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value);
  } else {
    element.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
}

/** h("p", {className: "note"}, "text", element): an element with attributes and children. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    set(element, name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    set(element, name, value);
  }
  element.append(...children);
  return element;
}

/** Sets the text only where it differs, so that screen readers are not told of it again. */
export function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

/** A link to a view: link("event", "gala") goes to #/event/gala. */
export function link(view, id, text = id) {
  return h("a", { href: address(view, id) }, text);
}

export function address(view, id) {
  return id === undefined ? `#/${view}` : `#/${view}/${encodeURIComponent(id)}`;
}
