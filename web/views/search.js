// SPDX-License-Identifier: Apache-2.0
// What is this booking, order, checkout, user? An id that carries its event is asked for at once. For one that does
// not, the first events and products are asked one after the other; which ones were is said with the result.

import { releaseBooking } from "../actions.js";
import { find, get } from "../api.js";
import { actionButton } from "../dialog.js";
import { h, link, say } from "../dom.js";
import { moment, number } from "../format.js";
import { heading, panel } from "../parts.js";

const MOST = 200; // events, products and rooms that are asked
const AT_ONCE = 6;
const KINDS = { events: "event", tenants: "quota", semaphores: "semaphore", products: "product", rooms: "room" };

function factList(entries) {
  return h("dl", { className: "facts" }, entries.filter(([, value]) => value !== undefined).map(([name, value]) => [
    h("dt", {}, name), h("dd", {}, value)]));
}

function bookingFacts(booking) {
  return factList([
    ["Event", link("event", booking.event_id)], ["Zone", booking.zone_id], ["User", booking.user_id],
    ["Seats", number(booking.quantity)], ["Status", booking.status], ["Made", moment(booking.created_at)],
    ["Due", booking.expires_at ? moment(booking.expires_at) : undefined],
    ["Confirmed", booking.confirmed_at ? moment(booking.confirmed_at) : undefined],
    ["Payment", booking.payment_id], ["Code", booking.confirmation_code]]);
}

/** Calls each(item) for all of them, a few at a time. */
async function forEach(items, each) {
  const rest = [...items];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      await each(item);
    }
  }));
}

/** The names of the first of a kind, and whether there are more. */
async function firstOf(kind) {
  const page = await get("list", kind, { count: MOST });
  return { names: page.items.map((item) => item.name), more: page.cursor !== "" };
}

export function search(context, wanted) {
  const results = h("div");
  const status = h("p", { className: "note", role: "status" }, "Looking …");
  const seen = new Set();
  const notes = [];
  let gone = false;

  function show(key, element) {
    if (!seen.has(key) && !gone) {
      seen.add(key);
      results.append(element);
    }
  }

  function showBooking(booking) {
    const button = booking.status === "reserved"
      ? actionButton(context, "Release", () => releaseBooking(booking)) : null;
    show(`booking ${booking.event_id} ${booking.booking_id}`,
      panel(`Booking ${booking.booking_id}`, bookingFacts(booking), button));
  }

  /** A part of the search; one that fails is told, and the others go on. */
  async function part(what, run) {
    try {
      await run();
    } catch (refusal) {
      notes.push(`${what}: not known, ${refusal.message}`);
    }
  }

  const slash = wanted.indexOf("/");
  const scope = slash > 0 ? wanted.slice(0, slash) : null;
  const id = slash > 0 ? wanted.slice(slash + 1) : wanted;

  async function among(kind, each) {
    const { names, more } = scope ? { names: [scope], more: false } : await firstOf(kind);
    await forEach(names, each);
    if (more) {
      notes.push(`Only the first ${number(MOST)} ${kind} were asked: write "name/${id}" to name another`);
    }
  }

  async function inEvent(event) {
    const booking = await find("events", event, "bookings", id);
    if (booking) {
      showBooking(booking);
    }
    const seats = await find("events", event, "users", id);
    if (seats && seats.held + seats.confirmed > 0) {
      show(`user ${event}`, panel(`User ${id} in ${event}`, factList([
        ["Event", link("event", event)], ["Seats held", number(seats.held)],
        ["Seats confirmed", number(seats.confirmed)]])));
    }
  }

  async function inRoom(event) {
    const place = await find("events", event, "queue", id);
    if (place) {
      show(`room ${event}`, panel(`User ${id} in line`, factList([["Room", link("room", event)],
        ["Position", number(place.position)], ["Of", number(place.total)]])));
    }
  }

  async function inProduct(product) {
    const order = await find("products", product, "orders", id);
    if (order) {
      show(`order ${product}`, panel(`Order ${id}`, factList([
        ["Product", link("product", product)], ["User", order.user_id], ["Quantity", number(order.quantity)],
        ["Status", order.status], ["Sold", moment(order.sold_at)]])));
    }
  }

  async function ofUser() {
    const page = await find("users", id, "bookings", { count: 50 });
    page?.items.forEach(showBooking);
    if (page?.cursor) {
      notes.push("The user has more bookings than are shown");
    }
  }

  async function bySaga() {
    const saga = await find("sagas", id);
    if (saga) {
      show("saga", panel(`Checkout ${id}`, factList([["Checkout", link("saga", id)], ["Status", saga.status],
        ["User", saga.user_id], ["Booking", saga.booking_id]])));
    }
  }

  async function named(kind) {
    const page = await get("list", kind, { match: id, count: 5 });
    page.items.forEach((item) => show(`${kind} ${item.name}`, panel(`In ${kind}`,
      h("p", {}, link(KINDS[kind], item.name)))));
  }

  async function run() {
    const ledger = context.history.latest?.ledger !== null;
    await Promise.all([
      part("By id", async () => {
        const booking = await find("bookings", id);
        if (booking) {
          showBooking(booking);
        }
      }),
      ...(ledger ? [part("Checkouts", bySaga), part("Bookings in the ledger", ofUser),
        part("Orders", () => among("products", inProduct))] : []),
      part("Events", () => among("events", inEvent)),
      part("Waiting rooms", () => among("rooms", inRoom)),
      ...(scope ? [] : Object.keys(KINDS).map((kind) => part(kind, () => named(kind)))),
    ]);
    if (!ledger) {
      notes.push("Orders and checkouts were not looked for: there is no ledger");
    }
    say(status, [seen.size === 0 ? `Nothing is known of ${wanted}.` : `${number(seen.size)} found.`, ...notes]
      .join(" · "));
  }

  run();
  return {
    title: `Search ${wanted}`,
    element: h("div", {}, heading(`Search for ${wanted}`), status, results),
    leave() {
      gone = true;
    },
  };
}
