// SPDX-License-Identifier: Apache-2.0
// What happened between two sets of figures: the server sends counters, people want rates and percentiles.

const KEPT = 300; // samples: five minutes

function total(commands, wanted) {
  let sum = 0;
  for (const outcomes of Object.values(commands)) {
    for (const [code, count] of Object.entries(outcomes)) {
      sum += wanted(code) ? count : 0;
    }
  }
  return sum;
}

/** How long the share took at most, in seconds, as far as buckets tell; null if nothing happened. */
export function percentile(before, after, bounds, share) {
  const counts = after.map((count, i) => count - before[i]);
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all <= 0) {
    return null;
  }
  let seen = 0;
  for (let i = 0; i < counts.length; i++) {
    if (counts[i] > 0 && seen + counts[i] >= all * share) {
      const least = i > 0 ? bounds[i - 1] : 0;
      const most = bounds[i] ?? least; // what took longer than all bounds took at least that
      return least + (most - least) * ((all * share - seen) / counts[i]);
    }
    seen += counts[i];
  }
  return null;
}

/** One sample. Without figures before it, or with those of another run of the server, rates are not known. */
export function sample(before, after) {
  const now = {
    time: after.time_ms, holds: after.holds, waiting: after.waiting, memory: after.memory_bytes,
    resident: after.resident_memory_bytes, connections: after.connections,
    done: null, refused: null, p50: null, p99: null, flush: null, refusals: null,
  };
  if (!before || after.uptime_seconds < before.uptime_seconds || after.time_ms <= before.time_ms) {
    return now;
  }
  const seconds = (after.time_ms - before.time_ms) / 1000;
  const per = (wanted) => (total(after.commands, wanted) - total(before.commands, wanted)) / seconds;
  const bounds = after.latency_bounds_s;
  return {
    ...now,
    done: per((code) => code === "OK"),
    refused: per((code) => code !== "OK"),
    p50: percentile(before.latency, after.latency, bounds, 0.5),
    p99: percentile(before.latency, after.latency, bounds, 0.99),
    flush: percentile(before.flushes, after.flushes, bounds, 0.99),
  };
}

export class History {
  samples = [];
  latest = null;

  add(figures) {
    this.samples.push(sample(this.latest, figures));
    if (this.samples.length > KEPT) {
      this.samples.shift();
    }
    this.latest = figures;
  }

  /** The stream was away: what happened meanwhile is a gap, not a slow second. */
  gap() {
    if (this.samples.length > 0 && this.latest !== null) {
      this.samples.push({ time: this.latest.time_ms });
      this.latest = null;
    }
  }

  last() {
    return this.samples.at(-1) ?? {};
  }
}

/** How often each code other than OK was the outcome, the most frequent first. */
export function refusals(commands) {
  const counts = new Map();
  for (const outcomes of Object.values(commands)) {
    for (const [code, count] of Object.entries(outcomes)) {
      if (code !== "OK") {
        counts.set(code, (counts.get(code) ?? 0) + count);
      }
    }
  }
  return [...counts].map(([code, count]) => ({ code, count })).sort((a, b) => b.count - a.count);
}

/** The commands, the busiest first. */
export function busiest(commands) {
  return Object.entries(commands).map(([name, outcomes]) => {
    const done = outcomes.OK ?? 0;
    const all = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
    return { name, done, refused: all - done };
  }).sort((a, b) => b.done + b.refused - a.done - a.refused);
}
