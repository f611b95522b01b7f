// SPDX-License-Identifier: Apache-2.0
// What there is of each kind, page by page, with its totals.

import { openZone } from "../actions.js";
import { bar } from "../chart.js";
import { actionButton } from "../dialog.js";
import { h, link } from "../dom.js";
import { duration, number, text } from "../format.js";
import { heading } from "../parts.js";
import { linked, pagedTable } from "../table.js";

const count = (title, key) => ({ title, number: true, text: (item) => number(item[key]) });

export function barColumn(title, parts, whole) {
  return { title, make: () => {
    const made = bar(parts);
    return { element: made.element, update: (item) => made.update(item, whole(item)) };
  } };
}

const named = (title, view) => ({ title, make: linked((item) => link(view, item.name)) });

export const SEATS = [{ key: "confirmed", name: "confirmed" }, { key: "reserved", name: "reserved" }];

export const zoneColumns = [
  { title: "Event", make: linked((zone) => link("event", zone.event_id)) },
  { title: "Zone", text: (zone) => zone.zone_id },
  barColumn("Filled", SEATS, (zone) => zone.capacity),
  count("Capacity", "capacity"), count("Available", "available"), count("Reserved", "reserved"),
  count("Confirmed", "confirmed"),
];

const kinds = {
  events: { title: "Events", columns: [named("Event", "event"), count("Zones", "zones"),
    count("Bookings", "bookings")] },
  zones: { title: "Zones", columns: zoneColumns },
  rooms: { title: "Waiting rooms", columns: [named("Event", "room"), count("In line", "waiting"),
    count("Inside", "inside")] },
  semaphores: { title: "Semaphores", columns: [named("Semaphore", "semaphore"),
    barColumn("In use", [{ key: "in_use", name: "in use" }], (item) => item.max),
    count("Slots in use", "in_use"), count("Limit", "max"), count("In line", "waiting")] },
  locks: { title: "Locks", columns: [{ title: "Resource", text: (lock) => lock.name },
    { title: "Lock id", text: (lock) => text(lock.lock_id) },
    { title: "Fence", number: true, text: (lock) => text(lock.fence) },
    { title: "Due in", number: true, text: (lock) => duration(lock.ttl_ms / 1000) }] },
  quotas: { title: "Quotas", kind: "tenants", columns: [named("Tenant", "quota"),
    barColumn("Used", [{ key: "settled", name: "used" }, { key: "held", name: "held" }], (item) => item.limit),
    count("Used", "used"), count("Held of it", "held"), count("Limit", "limit")],
  with: (item) => ({ ...item, settled: item.used - item.held }) },
  products: { title: "Products", columns: [named("Product", "product"),
    barColumn("Gone", [{ key: "sold", name: "sold" }, { key: "taken", name: "taken" }], (item) => item.loaded),
    count("Available", "available"), count("Taken", "taken"), count("Sold", "sold"), count("Loaded", "loaded"),
    count("Shards", "shards"), { title: "Mode", text: (item) => text(item.mode) }] },
};

/** A view of all there is of a kind. */
export function listOf(name) {
  const { title, columns, kind = name, with: more = (item) => item } = kinds[name];
  return (context) => {
    const match = h("input", { type: "search", id: "match", autocomplete: "off", spellcheck: "false" });
    const list = pagedTable(title, columns, (item) => item.name,
      () => ["list", kind, { match: match.value }], { arrange: (items) => items.map(more) });
    match.addEventListener("input", () => list.restart());
    const open = name === "zones" || name === "events"
      ? actionButton(context, "Open a zone", () => openZone(), () => list.refresh()) : null;
    list.restart();
    return {
      title,
      element: h("div", {}, heading(title, open),
        h("p", { className: "filter" }, h("label", { for: "match" }, "Begins with "), match), list.element),
      refresh: list.refresh,
    };
  };
}
