// SPDX-License-Identifier: Apache-2.0
// Lines over the last minutes, as SVG: a few hundred points need no library.

import { h, say, svg } from "./dom.js";
import { isKnown } from "./format.js";

const WIDTH = 300;
const HEIGHT = 80;
const SHORTEST_MS = 60_000;
const LONGEST_MS = 300_000;

/** The next of 1, 2, 5, 10, 20 … that is not less. */
export function ceiling(value) {
  if (!(value > 0)) {
    return 1;
  }
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999999);
}

/** The points of a line; it is broken where a value is not known. */
function line(samples, key, top, end, span) {
  let path = "";
  let pen = "M";
  for (const one of samples) {
    if (!isKnown(one[key])) {
      pen = "M";
    } else {
      const x = WIDTH - ((end - one.time) / span) * WIDTH;
      const y = HEIGHT - (one[key] / top) * HEIGHT;
      path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}${pen === "M" ? "h0" : ""}`; // one alone is a dot
      pen = "L";
    }
  }
  return path;
}

/** lines: [{key, name}]; write: how a value is written. */
export function chart(title, lines, write) {
  const paths = lines.map((_, i) => svg("path", { className: `line line-${i}` }));
  const values = lines.map(() => h("b"));
  const top = h("span", { className: "top", "aria-hidden": "true" });
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": title,
  }, svg("path", { className: "grid", d: `M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}` }),
  ...paths);
  const element = h("figure", { className: "chart" },
    h("figcaption", {}, h("span", {}, title), h("span", { className: "legend" },
      lines.map((one, i) => h("span", { className: `key key-${i}` }, `${one.name} `, values[i])))),
    h("div", { className: "plot" }, top, picture));
  return {
    element,
    update(samples) {
      const end = samples.at(-1)?.time ?? 0;
      const shown = samples.filter((one) => end - one.time <= LONGEST_MS);
      const span = Math.max(SHORTEST_MS, end - (shown[0]?.time ?? end));
      const known = lines.flatMap(({ key }) => shown.map((one) => one[key])).filter(isKnown);
      const most = ceiling(Math.max(0, ...known));
      say(top, known.length > 0 ? write(most) : "");
      lines.forEach(({ key }, i) => {
        paths[i].setAttribute("d", line(shown, key, most, end, span));
        say(values[i], write(shown.at(-1)?.[key]));
      });
    },
  };
}

/** What there is, in parts: parts are [{key, name}], of a whole. Drawn, and told in words. */
export function bar(parts) {
  const segments = parts.map(({ name }, i) => h("span", { className: `segment segment-${i}`, title: name }));
  const element = h("span", { className: "bar", role: "img", "aria-label": "not known yet" }, segments);
  return {
    element,
    update(values, whole) {
      const words = [];
      parts.forEach(({ key, name }, i) => {
        const share = whole > 0 ? Math.min(100, ((values[key] ?? 0) / whole) * 100) : 0;
        segments[i].style.width = `${share}%`;
        words.push(`${name} ${values[key] ?? "unknown"}`);
      });
      element.setAttribute("aria-label", `${words.join(", ")} of ${whole ?? "unknown"}`);
    },
  };
}
