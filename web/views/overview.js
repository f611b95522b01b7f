// SPDX-License-Identifier: Apache-2.0
// How the server is doing: rates, latencies, refusals, memory, and what it stands on.

import { get } from "../api.js";
import { bar, chart } from "../chart.js";
import { address, h, link, say } from "../dom.js";
import { bytes, compact, duration, isKnown, number, rate, text } from "../format.js";
import { facts, heading, panel, poller, tile } from "../parts.js";
import { busiest, refusals } from "../series.js";
import { linked, table } from "../table.js";

const BREAKER = ["closed", "open", "half-open"];
const SHOWN = 8;
const scaled = (value, factor) => (isKnown(value) ? value * factor : value);

/** A row that shows one figure of the engine or the service. */
const figure = (name, key, write = number) => [name, ({ figures }) => write(figures[key])];

const serverRows = [
  ["State", ({ state, unready, engine_away: away }) => unready ?? (away ? `${state}, the engine is away` : state)],
  ["Engine", ({ engine }) => engine],
  ["Version", ({ version }) => version],
  ["Up for", ({ uptime_seconds: up }) => duration(up)],
  ["Connections", ({ connections }) => number(connections)],
  ["Process memory", ({ resident_memory_bytes: size }) => bytes(size)],
  ["State memory", ({ memory_bytes: size }) => bytes(size)],
  ["Client buffers", ({ client_memory_bytes: size }) => bytes(size)],
  ["Fell due in all", ({ expired }) => number(expired)],
];
const diskRows = [
  figure("Journal", "journal_bytes", bytes),
  figure("Since the last snapshot", "journal_growth_bytes", bytes),
  figure("Last snapshot", "snapshot_age_seconds", (age) => (isKnown(age) ? `${duration(age)} ago` : text(age))),
  figure("Snapshot size", "snapshot_bytes", bytes),
  figure("Snapshots that failed", "snapshot_failures_total"),
  figure("Disk free", "disk_free_bytes", bytes),
];
const redisRows = [
  ["Connections open", ({ figures: f }) => number(f.redis_connects_total - f.redis_disconnects_total)],
  figure("Connections that broke", "redis_disconnects_total"),
  figure("Requests in flight", "redis_in_flight"),
  figure("Redirected", "redis_redirects_total"),
  figure("Outcome unknown", "redis_unknown_total"),
  figure("Refused", "redis_refused_total"),
  figure("Release worker, late by", "worker_late_milliseconds", (ms) => duration(isKnown(ms) ? ms / 1000 : ms)),
  figure("Worker errors", "worker_errors_total"),
];
const ledgerRows = [
  ["Ledger", ({ ledger }) => text(ledger)],
  ["Status", ({ ledger_status: status }) => text(status?.replace(/^ledger .*?: /, ""))],
  figure("Breaker", "breaker_state", (state) => text(BREAKER[state])),
  figure("Breaker opened", "breaker_opened_total"),
  figure("Breaker of payments", "payment_breaker_state", (state) => text(BREAKER[state])),
  figure("Last reconciled", "reconciled_seconds", (age) => (isKnown(age) ? `${duration(age)} ago` : text(age))),
  figure("Corrections", "reconcile_corrections_total"),
  figure("Drift corrected", "reconcile_drift_total"),
  figure("Sales pending", "ledger_pending"),
];

/** Panels for what this server has: a server without Redis has no figures of it. */
const optional = [
  { title: "Journal and disk", rows: diskRows, has: ({ figures }) => "journal_bytes" in figures },
  { title: "Redis", rows: redisRows, has: ({ figures }) => "redis_connects_total" in figures },
  { title: "Ledger, breaker, drift", rows: ledgerRows, has: ({ ledger }) => ledger !== null },
];

function makeOptional({ title, rows, has }) {
  const inner = facts(rows);
  const element = panel(title, inner.element);
  return {
    element,
    update(figures) {
      element.hidden = !has(figures);
      if (!element.hidden) {
        inner.update(figures);
      }
    },
  };
}

/** The servers of Redis one by one; how many commands a second is told by two sets of figures. */
function redisNodes() {
  let before = null;
  const shown = table("Redis nodes", [
    { title: "Node", text: (node) => node.name },
    { title: "Role", text: (node) => node.role },
    { title: "State", text: (node) => (node.problem ? `${node.state}: ${node.problem}` : node.state) },
    { title: "Commands", number: true, text: (node) => rate(node.rate) },
    { title: "In flight", number: true, text: (node) => number(node.in_flight) },
    { title: "Reply in", number: true, text: (node) => duration(scaled(node.reply_us, 1e-6)) },
    { title: "Up for", number: true, text: (node) => duration(scaled(node.up_ms, 1e-3)) },
  ], (node) => node.name);
  const more = h("p", { className: "note", hidden: true });
  const element = panel("Redis nodes", shown.element, more);

  function withRate(node, { time_ms: now }) {
    const former = before?.nodes?.find(({ name }) => name === node.name);
    const seconds = former ? (now - before.time_ms) / 1000 : 0;
    const known = seconds > 0 && node.commands >= former.commands;
    return { ...node, rate: known ? (node.commands - former.commands) / seconds : null };
  }

  return {
    element,
    update(figures) {
      element.hidden = !isKnown(figures.nodes);
      if (!element.hidden && figures.time_ms !== before?.time_ms) {
        shown.update(figures.nodes.map((node) => withRate(node, figures)));
        more.hidden = !figures.nodes_left_out;
        say(more, `And ${number(figures.nodes_left_out)} more.`);
        before = figures;
      }
    },
  };
}

function fullest() {
  const shown = table("Fullest zones", [
    { title: "Zone", make: linked((zone) => link("event", zone.event_id, zone.name)) },
    { title: "Filled", make: () => {
      const made = bar([{ key: "confirmed", name: "confirmed" }, { key: "reserved", name: "reserved" }]);
      return { element: made.element, update: (zone) => made.update(zone, zone.capacity) };
    } },
    { title: "Available", number: true, text: (zone) => number(zone.available) },
  ], (zone) => zone.name);
  const fill = (zone) => (zone.capacity > 0 ? 1 - zone.available / zone.capacity : 0);
  const loaded = poller(() => get("list", "zones", { count: 100 }), (page) => {
    shown.update(page.items.sort((a, b) => fill(b) - fill(a)).slice(0, SHOWN));
    more.hidden = page.cursor === "";
  });
  const more = h("p", { className: "note", hidden: true }, "Of the first 100 zones. ",
    h("a", { href: address("zones") }, "All zones"));
  return { element: panel("Zones", shown.element, more, loaded.note), refresh: loaded.refresh };
}

export function overview({ history }) {
  const tiles = [
    tile("Done", () => rate(history.last().done)),
    tile("Refused", () => rate(history.last().refused)),
    tile("Latency p50", () => duration(history.last().p50)),
    tile("Latency p99", () => duration(history.last().p99)),
    tile("Live holds", ({ holds }) => compact(holds)),
    tile("In line", ({ waiting }) => compact(waiting)),
  ];
  const charts = [
    chart("Commands", [{ key: "done", name: "done" }, { key: "refused", name: "refused" }], rate),
    chart("Latency", [{ key: "p50", name: "p50" }, { key: "p99", name: "p99" },
      { key: "flush", name: "journal p99" }], duration),
    chart("Held and waiting", [{ key: "holds", name: "holds" }, { key: "waiting", name: "in line" }], compact),
    chart("Memory", [{ key: "resident", name: "process" }, { key: "memory", name: "state" }], bytes),
  ];
  const server = facts(serverRows);
  const panels = [...optional.map(makeOptional), redisNodes()];
  const refused = table("Refusals", [
    { title: "Code", text: ({ code }) => code },
    { title: "Since the start", number: true, text: ({ count }) => number(count) },
  ], ({ code }) => code);
  const busy = table("Commands", [
    { title: "Command", text: ({ name }) => name },
    { title: "Done", number: true, text: ({ done }) => number(done) },
    { title: "Refused", number: true, text: ({ refused: count }) => number(count) },
  ], ({ name }) => name);
  const zones = fullest();
  return {
    title: "Overview",
    element: h("div", {}, heading("Overview"),
      h("dl", { className: "tiles" }, tiles.map(({ element }) => element)),
      h("div", { className: "charts" }, charts.map(({ element }) => element)),
      h("div", { className: "panels" }, zones.element, panel("Server", server.element),
        panels.map(({ element }) => element), panel("Refusals", refused.element),
        panel("Busiest commands", busy.element))),
    update(figures) {
      [...tiles, server, ...panels].forEach((part) => part.update(figures));
      charts.forEach((part) => part.update(history.samples));
      refused.update(refusals(figures.commands).slice(0, SHOWN));
      busy.update(busiest(figures.commands).slice(0, SHOWN));
    },
    refresh: zones.refresh,
  };
}
