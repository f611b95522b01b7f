// SPDX-License-Identifier: Apache-2.0
// Figures for people. What is not known is a dash, and never 0.

export const UNKNOWN = "–";

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function isKnown(value) {
  return value !== null && value !== undefined && !Number.isNaN(value);
}

function known(write) {
  return (value) => (isKnown(value) ? write(value) : UNKNOWN);
}

export const number = known((value) => whole.format(value));
export const compact = known((value) => (Math.abs(value) < 10000 ? whole.format(Math.round(value))
  : short.format(value)));
export const rate = known((value) => `${value > 0 && value < 10 ? value.toFixed(1)
  : short.format(Math.round(value))}/s`);
export const text = known((value) => (value === "" ? UNKNOWN : String(value)));

export const bytes = known((value) => {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) {
    value /= 1000;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
});

/** Seconds, from microseconds to days. */
export const duration = known((seconds) => {
  const steps = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
  const [size, unit] = steps.find(([step]) => Math.abs(seconds) >= step) ?? [1, "s"];
  const count = seconds / size;
  return `${count >= 10 || Number.isInteger(count) ? Math.round(count) : count.toFixed(1)} ${unit}`;
});

/** A moment in milliseconds since 1970; 0 is how the server writes that there is none. */
export const moment = known((ms) => (ms === 0 ? UNKNOWN
  : new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC")));

/** Money in minor units, of which only the payment peer knows how many make a whole one. */
export const money = (amount, currency) => (isKnown(amount) ? `${number(amount)} minor units`
  + (currency ? ` of ${currency}` : "") : UNKNOWN);
