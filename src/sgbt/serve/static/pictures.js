// Three small pictures: the verdict's sign, the margin with its proven bound, and an attack's trace.
import { figure, make, svg } from "/static/dom.js";

const SIGNS = {
  certified: ["M24 4 42 10.500v12.500c0 10.800-7.300 18.300-18 22-10.700-3.700-18-11.200-18-22V10.500z", "m15.500 24 6 6L33 18"],
  open: ["M24 4 42 10.500v12.500c0 10.800-7.300 18.300-18 22-10.700-3.700-18-11.200-18-22V10.500z", "M18.500 19.500a5.500 5.500 0 1 1 8 4.900c-1.700.9-2.500 1.900-2.500 4.100M24 34v.1"],
  neutral: ["M24 4 42 10.500v12.500c0 10.800-7.300 18.300-18 22-10.700-3.700-18-11.200-18-22V10.500z", "M16.500 24.500h15"],
  broken: ["M24 4 42 10.500v12.500c0 10.800-7.300 18.300-18 22-10.700-3.700-18-11.200-18-22V10.500z", "m27 8-7 12 8 6-6 14"],
};

export function sign(kind) {
  const [outline, mark] = SIGNS[kind];
  const stroke = { fill: "none", stroke: "currentColor", "stroke-width": 3.4, "stroke-linecap": "round", "stroke-linejoin": "round" };
  return svg("svg", { viewBox: "0 0 48 48", "aria-hidden": "true" }, svg("path", { d: outline, ...stroke }), svg("path", { d: mark, ...stroke }));
}

// A line with zero on it: the dot is the margin as it stands, the bar reaches down to the least that is proven.
export function marginPicture(proof, room) {
  const now = proof.clean_margin;
  const least = proof.margin;
  const low = Math.min(least, 0);
  const high = Math.max(now, least, 0);
  const span = high - low || 1;
  const width = Math.min(Math.max(room, 280), 640);
  const x = (value) => 16 + ((value - low) / span) * (width - 32);
  const safe = least > proof.slack;
  const vacuous = proof.verdict === "nothing-to-replace";
  const kind = vacuous ? "plain" : safe ? "safe" : "unsafe";
  const anchor = (place) => (place < 70 ? "start" : place > width - 70 ? "end" : "middle");
  const text = (place, y, words) => svg("text", { x: place, y, "text-anchor": anchor(place) }, words);
  const picture = svg("svg", { viewBox: `0 0 ${width} 66`, "aria-hidden": "true" },
    svg("line", { class: "axis", x1: 8, x2: width - 8, y1: 34, y2: 34 }),
    svg("line", { class: `span ${kind}`, x1: x(least), x2: x(now), y1: 34, y2: 34 }),
    svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 18, y2: 50 }),
    svg("rect", { class: kind, x: x(least) - 2.5, y: 24, width: 5, height: 20, rx: 2.5 }),
    svg("circle", { class: "now", cx: x(now), cy: 34, r: 7 }),
    text(x(now), 16, `as it stands ${figure(now)}`), text(x(least), 62, `at worst ${figure(least)}`));
  if (Math.abs(x(0) - x(least)) > 110) picture.append(text(x(0), 62, "0: label changes"));
  const bound = vacuous ? "No other version of the text is allowed." : safe ? `Whatever is replaced, it stays above ${figure(least)}.` : `It is not proven to stay above zero: the bound is ${figure(least)}.`;
  return make("figure", {}, picture, make("figcaption", {}, `Margin over ${proof.rival}: ${figure(now)}. ${bound}`));
}

// The probability of the attacked label after every swap.
export function trace(values, room) {
  const width = Math.min(Math.max(room, 280), 640);
  const height = 90;
  const x = (place) => 8 + (place / Math.max(values.length - 1, 1)) * (width - 16);
  const y = (value) => 8 + (1 - value) * (height - 16);
  const points = values.map((value, place) => `${x(place).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const last = values.length - 1;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("line", { class: "zero", x1: 8, x2: width - 8, y1: y(0.5), y2: y(0.5) }),
    svg("text", { x: 8, y: y(0.5) + 15 }, "50 %"),
    svg("polyline", { class: "trace", points }), svg("circle", { cx: x(last), cy: y(values[last]), r: 5, fill: "currentColor" }));
}
