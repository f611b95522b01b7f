// SPDX-License-Identifier: Apache-2.0
// One event: its zones, how old the holds are, its bookings.

import { openZone, releaseBooking } from "../actions.js";
import { get } from "../api.js";
import { bar } from "../chart.js";
import { actionButton } from "../dialog.js";
import { h, link, say } from "../dom.js";
import { moment, number, text } from "../format.js";
import { heading, panel, poller } from "../parts.js";
import { pagedTable, table } from "../table.js";
import { zoneColumns } from "./lists.js";

const LOOKED_AT = 1000;
const PAGES = 5;
const AGES = [[60, "under a minute"], [300, "1 to 5 minutes"], [600, "5 to 10 minutes"],
  [1800, "10 to 30 minutes"], [Infinity, "over 30 minutes"]];

/** How many of the reserved bookings are how old. */
export function byAge(bookings, now) {
  const groups = AGES.map(([, name]) => ({ name, bookings: 0, seats: 0 }));
  for (const booking of bookings) {
    const group = groups[AGES.findIndex(([most]) => (now - booking.created_at) / 1000 < most)];
    group.bookings++;
    group.seats += booking.quantity;
  }
  return groups;
}

/** The first reserved bookings; a page of the server may be shorter than was asked for. */
async function firstHolds(event) {
  const items = [];
  let cursor = "";
  for (let pages = 0; pages < PAGES && items.length < LOOKED_AT; pages++) {
    const page = await get("events", event, "bookings",
      { status: "reserved", count: LOOKED_AT - items.length, after: cursor });
    items.push(...page.items);
    cursor = page.cursor;
    if (cursor === "") {
      break;
    }
  }
  return { items, more: cursor !== "" };
}

function ages(context, event) {
  let whole = 0;
  const shown = table("Holds by age", [
    { title: "Age", text: (group) => group.name },
    { title: "Share", make: () => {
      const made = bar([{ key: "bookings", name: "bookings" }]);
      return { element: made.element, update: (group) => made.update(group, whole) };
    } },
    { title: "Bookings", number: true, text: (group) => number(group.bookings) },
    { title: "Seats", number: true, text: (group) => number(group.seats) },
  ], (group) => group.name);
  const limit = h("p", { className: "note" });
  const loaded = poller(() => firstHolds(event), ({ items, more }) => {
    whole = items.length;
    shown.update(byAge(items, context.history.latest?.time_ms ?? Date.now()));
    say(limit, more ? `Of the first ${number(whole)} holds only: there are more.` : "");
  });
  return { element: panel("Holds by age", shown.element, limit, loaded.note), refresh: loaded.refresh };
}

const bookingColumns = (context, after) => [
  { title: "Booking", text: (booking) => booking.booking_id },
  { title: "User", make: (booking) => ({ element: link("search", booking.user_id, booking.user_id) }) },
  { title: "Zone", text: (booking) => booking.zone_id },
  { title: "Seats", number: true, text: (booking) => number(booking.quantity) },
  { title: "Status", text: (booking) => booking.status },
  { title: "Made", text: (booking) => moment(booking.created_at) },
  { title: "Due", text: (booking) => moment(booking.expires_at) },
  ...(context.me.role !== "admin" ? [] : [{ title: "Action", make: (booking) => {
    let now = booking;
    const button = actionButton(context, "Release", () => releaseBooking(now), after);
    button.setAttribute("aria-label", `Release ${booking.booking_id}`);
    return { element: button, update: (item) => {
      now = item;
      button.hidden = item.status !== "reserved";
    } };
  } }]),
];

export function event(context, id) {
  const zones = pagedTable("Zones", [...zoneColumns.slice(1), ...(context.me.role !== "admin" ? [] : [
    { title: "Action", make: (zone) => {
      let now = zone;
      const button = actionButton(context, "Change", () => openZone(id, zone.zone_id, String(now.capacity)),
        () => refresh());
      button.setAttribute("aria-label", `Change ${zone.zone_id}`);
      return { element: button, update: (item) => { now = item; } };
    } }])], (zone) => zone.name, () => ["list", "zones", { match: `${id} ` }]);
  const age = ages(context, id);
  const status = h("select", { id: "status" }, ["any", "reserved", "confirmed"].map((word) => h("option", {}, word)));
  const user = h("input", { type: "search", id: "user", autocomplete: "off", spellcheck: "false" });
  const bookings = pagedTable("Bookings", bookingColumns(context, () => refresh()),
    (booking) => booking.booking_id,
    () => ["events", id, "bookings", { status: status.value, user: user.value }]);
  status.addEventListener("change", () => bookings.restart());
  user.addEventListener("change", () => bookings.restart());
  const room = h("p", {}, link("room", id, "Its waiting room"));

  function refresh() {
    return Promise.all([zones.refresh(), bookings.refresh(), age.refresh()]);
  }

  zones.restart();
  bookings.restart();
  age.refresh();
  return {
    title: text(id),
    element: h("div", {}, heading(`Event ${id}`, actionButton(context, "Open a zone", () => openZone(id), refresh)),
      room, panel("Zones", zones.element), age.element,
      panel("Bookings", h("p", { className: "filter" }, h("label", { for: "status" }, "Status "), status,
        h("label", { for: "user" }, " User "), user), bookings.element)),
    refresh,
  };
}
