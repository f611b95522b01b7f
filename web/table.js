// SPDX-License-Identifier: Apache-2.0
// Tables that are brought up to date in place, so that neither focus nor selection is lost, and lists of the
// server page by page.

import { get } from "./api.js";
import { h, say } from "./dom.js";

/** Columns: {title, text(item)} or {title, make(item) -> {element, update(item)}}; numbers stand right. */
export function table(caption, columns, key) {
  const body = h("tbody");
  const empty = h("p", { className: "empty", hidden: true }, "There is nothing here.");
  const element = h("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", { className: "hidden" }, caption),
      h("thead", {}, h("tr", {}, columns.map((column) => h("th",
        { scope: "col", className: column.number ? "number" : null }, column.title)))),
      body), empty);
  let rows = new Map();

  function makeRow(item) {
    const cells = columns.map((column) => {
      const cell = h("td", { className: column.number ? "number" : null });
      if (column.text) {
        return { cell, update: (now) => say(cell, column.text(now)) };
      }
      const made = column.make(item);
      cell.append(made.element);
      return { cell, update: (now) => made.update?.(now) };
    });
    return { row: h("tr", {}, cells.map(({ cell }) => cell)), cells };
  }

  function update(items) {
    const next = new Map();
    items.forEach((item, at) => {
      const name = key(item);
      const made = rows.get(name) ?? makeRow(item);
      made.cells.forEach((cell) => cell.update(item));
      next.set(name, made);
      if (body.children[at] !== made.row) {
        body.insertBefore(made.row, body.children[at] ?? null);
      }
    });
    for (const [name, made] of rows) {
      if (!next.has(name)) {
        made.row.remove();
      }
    }
    rows = next;
    empty.hidden = items.length > 0;
  }

  return { element, update };
}

/** A link whose text is the same for as long as the row is. */
export function linked(make) {
  return (item) => ({ element: make(item) });
}

/** A list of the server, page by page. where(): the parts of its path and the query without cursor. Where a page of the
 * server may be short of what a filter wants, up to `stretches` of them make one. */
export function pagedTable(caption, columns, key, where,
  { count = 50, arrange = (items) => items, stretches = 1 } = {}) {
  const shown = table(caption, columns, key);
  const note = h("p", { className: "note", role: "status" });
  const first = h("button", { type: "button", onclick: () => go([]) }, "First");
  const back = h("button", { type: "button", onclick: () => go(cursors.slice(0, -1)) }, "Previous");
  const next = h("button", { type: "button", onclick: () => go([...cursors, following]) }, "Next");
  const element = h("div", {}, shown.element,
    h("nav", { className: "pages", "aria-label": `Pages of ${caption}` }, first, back, next, note));
  let cursors = []; // of the pages up to this one; the first has none
  let following = "";
  let turn = 0;
  let busy = false;

  async function read() {
    const parts = where();
    const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
    const page = { items: [], cursor: cursors.at(-1) };
    for (let asked = 0; asked < stretches && (asked === 0 || (page.cursor && page.items.length < count)); asked++) {
      const more = await get(...parts, { ...query, count: count - page.items.length, after: page.cursor });
      page.items.push(...more.items);
      page.cursor = more.cursor;
    }
    return page;
  }

  async function load(mine) {
    try {
      const page = await read();
      if (mine === turn) {
        following = page.cursor;
        shown.update(arrange(page.items));
        say(note, `Page ${cursors.length + 1}${following ? "" : ", the last"}`);
      }
    } catch (refusal) {
      if (mine === turn) {
        say(note, `Not known: ${refusal.message}`);
      }
    }
    first.disabled = back.disabled = cursors.length === 0;
    next.disabled = following === "";
  }

  function go(to) {
    cursors = to;
    return load(++turn);
  }

  return {
    element,
    restart: () => go([]),
    /** The same page again, unless the last answer is still to come. */
    async refresh() {
      if (!busy) {
        busy = true;
        await load(turn);
        busy = false;
      }
    },
  };
}
