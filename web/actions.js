// SPDX-License-Identifier: Apache-2.0
// What an admin can do here: each is one request, said in full before it is sent.

import { path } from "./api.js";
import { number } from "./format.js";

export function openZone(event = "", zone = "", capacity = "") {
  return {
    title: zone ? "Change a zone" : "Open a zone",
    verb: zone ? "Change" : "Open",
    warning: zone ? `Sets how many seats zone ${zone} of event ${event} has in all.`
      : "Makes a zone; its first zone makes the event. If there is such a zone, its capacity is changed.",
    fields: [
      { name: "event", label: "Event", value: event },
      { name: "zone", label: "Zone", value: zone },
      { name: "capacity", label: "Seats in all", type: "number", min: 0, value: capacity },
    ],
    request: (given) => ({
      method: "PUT", path: path("events", given.event, "zones", given.zone), body: { capacity: given.capacity },
    }),
    done: (reply) => `The zone has ${number(reply.capacity)} seats.`,
  };
}

export function releaseBooking(booking) {
  return {
    title: "Release a booking",
    verb: "Release",
    warning: `Gives back the ${number(booking.quantity)} seats of booking ${booking.booking_id}, which `
      + `${booking.user_id} holds in zone ${booking.zone_id} of ${booking.event_id}.`,
    request: () => ({
      method: "POST", path: path("events", booking.event_id, "bookings", booking.booking_id, "cancel"), body: {},
    }),
    done: () => "The seats are free again.",
  };
}

export function admit(event) {
  return {
    title: "Admit from the line",
    verb: "Admit",
    warning: `The first in line for ${event} get a pass now, whatever the room's rate says; never more than may be `
      + "inside.",
    fields: [{ name: "count", label: "How many at most", type: "number", min: 1, max: 4000, value: 1 }],
    request: (given) => ({
      method: "POST", path: path("events", event, "queue", "admit"),
      body: { count: given.count, admission_id: crypto.randomUUID() },
    }),
    done: (reply) => `${number(reply.length)} admitted.`,
  };
}

/** Every setting of a room is set at once: those that stay are sent as they are. */
export function pauseRoom(event, room) {
  const paused = !room.paused;
  return {
    title: paused ? "Pause a waiting room" : "Let a waiting room go on",
    verb: paused ? "Pause" : "Go on",
    warning: paused ? `Nobody is admitted to ${event} by itself until somebody lets the room go on.`
      : `Those in line for ${event} are admitted again, as the room's settings say.`,
    request: () => ({
      method: "PUT", path: path("events", event, "room"),
      body: {
        rate: room.rate, inside: room.inside_max, start_ms: room.start_ms, order: room.random ? "random" : "fifo",
        pass_seconds: `${room.pass_ms}ms`, paused, gate: Boolean(room.gate),
      },
    }),
    done: () => (paused ? "The room is paused." : "The room admits."),
  };
}

export function adjustStock(product) {
  return {
    title: "Adjust stock",
    verb: "Adjust",
    warning: `Moves what is available of ${product} by a difference: a minus takes away.`,
    fields: [
      { name: "delta", label: "Difference", type: "number", value: "" },
      { name: "reason", label: "Why, for the journal", value: "" },
    ],
    request: (given) => ({ method: "POST", path: path("products", product, "adjust"), body: given }),
    done: (reply) => `${number(reply.available)} are available.`,
  };
}

export function reconcile(product) {
  return {
    title: "Reconcile with the ledger",
    verb: "Reconcile",
    warning: `Compares ${product ?? "every product"} with the ledger, and corrects the engine by what is certain.`,
    fields: [{ name: "dry", label: "Only tell, correct nothing", type: "checkbox" }],
    request: (given) => ({
      method: "POST", path: path("reconcile"),
      body: { ...(product ? { product } : {}), ...(given.dry ? { dry: true } : {}) },
    }),
    done: (reply, given) => (given.dry ? `${number(reply.corrected)} would be corrected.`
      : `${number(reply.corrected)} corrected.`),
  };
}

export function resumeSaga(saga) {
  return {
    title: "Resume a checkout",
    verb: "Resume",
    warning: `Drives ${saga.saga_id}, which needs attention, on from where it was.`,
    request: () => ({ method: "POST", path: path("sagas", saga.saga_id, "resume"), body: {} }),
    done: (reply) => `It is ${reply.status}.`,
  };
}

export function refundSaga(saga) {
  return {
    title: "Refund a checkout",
    verb: "Refund",
    warning: `Takes ${saga.saga_id} back: ${number(saga.quantity)} seats of ${saga.user_id} in ${saga.event_id}, and `
      + "the payment for them.",
    request: () => ({ method: "POST", path: path("sagas", saga.saga_id, "refund"), body: {} }),
    done: (reply) => `It is ${reply.status}.`,
  };
}
