// SPDX-License-Identifier: Apache-2.0
// One waiting room, semaphore, tenant or product: its totals, and who has what of it.

import { adjustStock, admit, pauseRoom, reconcile } from "../actions.js";
import { get } from "../api.js";
import { bar } from "../chart.js";
import { actionButton } from "../dialog.js";
import { h, link, say } from "../dom.js";
import { duration, isKnown, moment, number, text } from "../format.js";
import { facts, heading, panel, poller } from "../parts.js";
import { pagedTable } from "../table.js";

const seconds = (ms) => duration(isKnown(ms) ? ms / 1000 : ms);
const bound = (value) => (value === 0 ? "any number" : number(value));
const when = (title, key) => ({ title, text: (item) => moment(item[key]) });

/** A list in a panel. With `wanted`, it is neither shown nor asked for before the totals say that there is one. */
function section(list) {
  const shown = pagedTable(list.title, list.columns, list.key, list.where, list);
  const element = panel(list.title, shown.element);
  element.hidden = Boolean(list.wanted);
  return {
    element,
    update: (data) => {
      const appears = element.hidden && list.wanted?.(data);
      element.hidden = list.wanted ? !list.wanted(data) : false;
      return appears ? shown.refresh() : undefined;
    },
    refresh: () => (element.hidden ? undefined : shown.refresh()),
  };
}

/** A view of one thing: totals and a bar above, lists below. */
function one({ title, load, rows, parts, whole, buttons = () => [], lists = [], note }) {
  const totals = facts(rows);
  const picture = parts ? bar(parts) : null;
  const sections = lists.map(section);
  let latest = null;
  const loaded = poller(load, (data) => {
    latest = data;
    totals.update(data);
    picture?.update(data, whole(data));
    made.forEach((button) => button?.update?.(data));
    sections.forEach((part) => part.update(data));
  });

  async function refresh() {
    await Promise.all([loaded, ...sections].map((part) => part.refresh()));
  }

  const made = buttons(() => latest, refresh).map((button) => (button?.element ? button : { element: button }));
  refresh();
  return {
    title,
    element: h("div", {}, heading(title, made.map(({ element }) => element)), loaded.note,
      panel("Totals", picture?.element, totals.element, note), sections.map(({ element }) => element)),
    refresh,
  };
}

export function room(context, event) {
  return one({
    title: `Waiting room ${event}`,
    load: () => get("events", event, "room"),
    rows: [
      ["In line", (stats) => number(stats.waiting)],
      ["Inside", (stats) => number(stats.inside)],
      ["At most inside", (stats) => bound(stats.inside_max)],
      ["Admitted in all", (stats) => number(stats.admitted)],
      ["Admitted a second", (stats) => bound(stats.rate)],
      ["Started", (stats) => (stats.started ? "yes" : `no: ${moment(stats.start_ms)}`)],
      ["Order of those before the start", (stats) => (stats.random ? "by lot" : "as they came")],
      ["A pass is valid for", (stats) => seconds(stats.pass_ms)],
      ["Gate", (stats) => (stats.gate ? "seats need a pass" : "none")],
      ["Paused", (stats) => (stats.paused ? "yes" : "no")],
      ["The last in line waits about", (stats) => duration(stats.estimated_wait_s)],
    ],
    buttons: (latest, refresh) => {
      const pause = actionButton(context, "Pause", () => pauseRoom(event, latest()), refresh);
      if (pause) {
        pause.disabled = true;
      }
      return [actionButton(context, "Admit", () => admit(event), refresh),
        pause && { element: pause, update: (stats) => {
          pause.disabled = false;
          say(pause, stats.paused ? "Go on" : "Pause");
        } }];
    },
    note: h("p", {}, link("event", event, "Its event")),
  });
}

/** Holders first, then the line in its order. */
export function inOrder(clients) {
  return [...clients].sort((a, b) => (a.position ?? 0) - (b.position ?? 0) || b.age_ms - a.age_ms);
}

export function semaphore(_, name) {
  return one({
    title: `Semaphore ${name}`,
    load: () => get("semaphores", name),
    parts: [{ key: "in_use", name: "in use" }],
    whole: (stats) => stats.max,
    rows: [["Slots in use", (stats) => number(stats.in_use)], ["Limit", (stats) => number(stats.max)],
      ["In line", (stats) => number(stats.waiting)]],
    lists: [{
      title: "Holders and line",
      arrange: inOrder,
      key: (client) => client.id,
      where: () => ["semaphores", name, "clients"],
      columns: [
        { title: "Client", text: (client) => client.id },
        { title: "State", text: (client) => (client.position ? `number ${client.position} in line` : client.state) },
        { title: "Slots", number: true, text: (client) => number(client.slots) },
        { title: "Fence", number: true, text: (client) => text(client.fence) },
        { title: "For", number: true, text: (client) => seconds(client.age_ms) },
        { title: "Due in", number: true, text: (client) => seconds(client.expires_in_ms) },
      ],
    }],
  });
}

export function quota(_, tenant) {
  return one({
    title: `Tenant ${tenant}`,
    load: async () => {
      const totals = await get("quotas", tenant);
      return { ...totals, settled: totals.used - totals.held };
    },
    parts: [{ key: "settled", name: "used" }, { key: "held", name: "held" }],
    whole: (totals) => totals.limit,
    rows: [["Used", (totals) => number(totals.used)], ["Held of it", (totals) => number(totals.held)],
      ["Limit", (totals) => number(totals.limit)]],
    lists: [{
      title: "Open holds",
      key: (hold) => hold.hold_id,
      where: () => ["quotas", tenant, "holds"],
      columns: [
        { title: "Hold", text: (hold) => hold.hold_id },
        { title: "Amount", number: true, text: (hold) => number(hold.amount) },
        when("Made", "created_at"), when("Due", "expires_at"),
      ],
    }],
  });
}

export function product(context, name) {
  return one({
    title: `Product ${name}`,
    load: () => get("products", name),
    parts: [{ key: "sold", name: "sold" }, { key: "taken", name: "taken" }],
    whole: (totals) => totals.loaded,
    rows: [["Available", (totals) => number(totals.available)], ["Taken", (totals) => number(totals.taken)],
      ["Sold", (totals) => number(totals.sold)], ["Loaded", (totals) => number(totals.loaded)],
      ["Shards", (totals) => number(totals.shards)], ["Mode", (totals) => text(totals.mode)]],
    buttons: (_latest, refresh) => [
      actionButton(context, "Adjust", () => adjustStock(name), refresh),
      actionButton(context, "Reconcile", () => reconcile(name), refresh)],
    lists: [{
      title: "Shards",
      wanted: (totals) => isKnown(totals.mode) && totals.mode !== "single",
      key: (shard) => shard.shard,
      where: () => ["products", name, "shards"],
      columns: [
        { title: "Shard", text: (shard) => shard.shard },
        { title: "Available", number: true, text: (shard) => number(shard.available) },
        { title: "Taken", number: true, text: (shard) => number(shard.taken) },
        { title: "Sold", number: true, text: (shard) => number(shard.sold) },
        { title: "Node", text: (shard) => text(shard.node) },
      ],
    }, {
      title: "Orders that are taken",
      key: (order) => order.order_id,
      where: () => ["products", name, "takes"],
      columns: [
        { title: "Order", text: (order) => order.order_id },
        { title: "User", make: (order) => ({ element: link("search", order.user_id) }) },
        { title: "Quantity", number: true, text: (order) => number(order.quantity) },
        when("Made", "created_at"), when("Due", "expires_at"),
      ],
    }],
  });
}
