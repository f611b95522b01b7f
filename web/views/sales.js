// SPDX-License-Identifier: Apache-2.0
// Orders and checkouts by how they ended, the ledger under them, and one checkout.

import { reconcile, refundSaga, resumeSaga } from "../actions.js";
import { get } from "../api.js";
import { actionButton } from "../dialog.js";
import { address, h, link } from "../dom.js";
import { isKnown, moment, money, number, text } from "../format.js";
import { facts, heading, panel, poller } from "../parts.js";
import { linked, pagedTable } from "../table.js";

const STATES = ["any", "NEEDS_ATTENTION", "STARTED", "RESERVED", "PAYING", "PAID", "COMPLETED", "COMPENSATING",
  "COMPENSATED"];
const STRETCHES = 5; // that one page of one state reads of the ledger

const figure = (name, key) => [name, ({ figures }) => number(figures[key])];

const orderRows = [
  figure("Sold", "purchases_sold_total"),
  figure("Sold past an engine that was away", "purchases_direct_total"),
  figure("Asked for again", "purchases_repeated_total"),
  figure("Sold out", "purchases_sold_out_total"),
  figure("Refused", "purchases_refused_total"),
  figure("Ledger down", "purchases_ledger_down_total"),
  figure("Engine down", "purchases_engine_down_total"),
  figure("Busy", "purchases_busy_total"),
  figure("Outcome unknown", "purchases_unknown_total"),
];
const sagaRows = [
  figure("Driven now", "sagas_active"),
  figure("Begun", "sagas_begun_total"),
  figure("COMPLETED", "sagas_completed_total"),
  figure("COMPENSATED", "sagas_compensated_total"),
  figure("NEEDS_ATTENTION", "sagas_attention_total"),
  figure("Taken over from another server", "sagas_claimed_total"),
  figure("Lost to another server", "sagas_lost_total"),
];
const ledgerRows = [
  ["Status", ({ ledger_status: status }) => text(status)],
  figure("Connections", "ledger_connected"),
  figure("Sales pending", "ledger_pending"),
  figure("Transactions", "ledger_batches_total"),
  figure("Outcomes looked up", "ledger_unknown_total"),
  figure("Reconciliations", "reconciliations_total"),
  figure("Corrections", "reconcile_corrections_total"),
  figure("Drift corrected", "reconcile_drift_total"),
];

/** The actions that fit the checkout's status, each a button that stays as long as its row does. */
function sagaActions(context, item, after) {
  let now = item;
  const named = (verb, make) => {
    const button = actionButton(context, verb, () => make(now), after);
    button.setAttribute("aria-label", `${verb} ${item.saga_id}`);
    return button;
  };
  const resume = named("Resume", resumeSaga);
  const refund = named("Refund", refundSaga);
  return {
    element: h("span", { className: "buttons" }, resume, refund),
    update(next) {
      now = next;
      resume.hidden = next.status !== "NEEDS_ATTENTION";
      refund.hidden = resume.hidden && next.status !== "COMPLETED";
    },
  };
}

const obstacle = (saga) => (saga.error_code ? `${saga.error_code}: ${saga.error_message}` : "nothing");

/** All checkouts of the ledger, or those in one state. */
function sagaList(context) {
  const state = h("select", { id: "state" }, STATES.map((name) => h("option", {}, name)));
  const list = pagedTable("Checkouts", [
    { title: "Checkout", make: linked((saga) => link("saga", saga.saga_id)) },
    { title: "Status", text: (saga) => saga.status },
    { title: "Event", make: linked((saga) => link("event", saga.event_id)) },
    { title: "User", make: linked((saga) => link("search", saga.user_id)) },
    { title: "Seats", number: true, text: (saga) => number(saga.quantity) },
    { title: "Amount", number: true, text: (saga) => money(saga.amount, saga.currency) },
    { title: "In the way", text: obstacle },
    { title: "Last moved", text: (saga) => moment(saga.updated_at) },
    ...(context.me.role !== "admin" ? []
      : [{ title: "Action", make: (saga) => sagaActions(context, saga, () => list.refresh()) }]),
  ], (saga) => saga.saga_id, () => ["sagas", { status: state.value }], { stretches: STRETCHES });
  state.addEventListener("change", () => list.restart());
  return {
    element: panel("Checkouts in the ledger",
      h("p", { className: "filter" }, h("label", { for: "state" }, "Status "), state), list.element),
    refresh: list.refresh,
  };
}

export function sales(context) {
  const list = sagaList(context);
  const hasLedger = () => isKnown(context.history.latest?.ledger);
  const parts = [facts(orderRows), facts(sagaRows), facts(ledgerRows)];
  const missing = h("p", { className: "note", hidden: true },
    "This server has no ledger yet: start it with --ledger, or use STOCK.BUY or SEATS.CHECKOUT once.");
  const id = h("input", { id: "saga", autocomplete: "off", spellcheck: "false", required: true });
  const form = h("form", { className: "filter" }, h("label", { for: "saga" }, "Checkout by id "), id,
    h("button", { type: "submit" }, "Show"));
  form.addEventListener("submit", (happened) => {
    happened.preventDefault();
    location.hash = address("saga", id.value.trim());
  });
  return {
    title: "Orders and checkouts",
    element: h("div", {}, heading("Orders and checkouts",
      actionButton(context, "Reconcile", () => reconcile())), missing,
    h("p", { className: "note" }, "Counted by this server since it was started."),
    h("div", { className: "panels" }, panel("Orders", parts[0].element), panel("Checkouts", parts[1].element, form),
      panel("Ledger", parts[2].element)), list.element),
    // A server without a ledger is not asked: it might make one.
    refresh: () => hasLedger() && list.refresh(),
    update(figures) {
      missing.hidden = figures.ledger !== null;
      parts.forEach((part) => part.update(figures));
    },
  };
}

const sagaFacts = [
  ["Status", (saga) => saga.status],
  ["Event", (saga) => saga.event_id],
  ["Zone", (saga) => saga.zone_id],
  ["Booking", (saga) => saga.booking_id],
  ["User", (saga) => saga.user_id],
  ["Seats", (saga) => number(saga.quantity)],
  ["Amount", (saga) => money(saga.amount, saga.currency)],
  ["Payment", (saga) => `${saga.payment}${saga.payment_id ? `, ${saga.payment_id}` : ""}`],
  ["Provider", (saga) => text(saga.provider)],
  ["What stands in the way", obstacle],
  ["Attempts", (saga) => number(saga.attempts)],
  ["Begun", (saga) => moment(saga.created_at)],
  ["Last moved", (saga) => moment(saga.updated_at)],
];

export function saga(context, id) {
  const shown = facts(sagaFacts);
  let latest = { saga_id: id };
  const loaded = poller(() => get("sagas", id), (now) => {
    latest = now;
    shown.update(now);
    const stuck = now.status === "NEEDS_ATTENTION";
    if (resume) {
      resume.hidden = !stuck;
      refund.hidden = !stuck && now.status !== "COMPLETED";
    }
    booking.replaceChildren(link("event", now.event_id, "Its event"));
  });
  const refresh = () => loaded.refresh();
  const resume = actionButton(context, "Resume", () => resumeSaga(latest), refresh);
  const refund = actionButton(context, "Refund", () => refundSaga(latest), refresh);
  const booking = h("p");
  for (const button of [resume, refund]) {
    if (button) {
      button.hidden = true;
    }
  }
  refresh();
  return {
    title: `Checkout ${id}`,
    element: h("div", {}, heading(`Checkout ${id}`, resume, refund), loaded.note,
      panel("What is known", shown.element, booking)),
    refresh,
  };
}
