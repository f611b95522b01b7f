// SPDX-License-Identifier: Apache-2.0
// Parts that several views are made of.

import { h, say } from "./dom.js";
import { UNKNOWN } from "./format.js";

/** Names and values: rows are [name, write(data)]. A value that is not known says so. */
export function facts(rows) {
  const values = rows.map(() => h("dd"));
  const element = h("dl", { className: "facts" }, rows.map(([name], i) => [h("dt", {}, name), values[i]]));
  return {
    element,
    update(data) {
      rows.forEach(([, write], i) => {
        const value = write(data);
        say(values[i], value);
        if (value === UNKNOWN) {
          values[i].title = data?.unknown_because ?? "not known";
        } else {
          values[i].removeAttribute("title");
        }
      });
    },
  };
}

/** A large figure with its name. */
export function tile(name, write) {
  const value = h("dd");
  const element = h("div", { className: "tile" }, h("dt", {}, name), value);
  return {
    element,
    update(data) {
      const now = write(data);
      say(value, now);
      value.title = now === UNKNOWN ? data?.unknown_because ?? "not known" : "";
    },
  };
}

export function panel(title, ...children) {
  return h("section", { className: "panel" }, h("h2", {}, title), children);
}

export function heading(title, ...buttons) {
  return h("div", { className: "heading" }, h("h1", { tabindex: "-1" }, title),
    h("div", { className: "buttons" }, buttons));
}

/** Loads something again and again, as often as it is told to; one request at a time. */
export function poller(load, show) {
  const note = h("p", { className: "note", role: "status" });
  let busy = false;
  return {
    note,
    async refresh() {
      if (busy) {
        return;
      }
      busy = true;
      try {
        show(await load());
        say(note, "");
      } catch (refusal) {
        say(note, `Not known: ${refusal.message}`);
      }
      busy = false;
    },
  };
}
