// Building elements. Text only ever enters as text nodes, so nothing in a text or a model's name can become markup.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

export const figure = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : Number(value.toPrecision(3)).toString());

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

// 10 to the given power, in words for a person: exact while small, else with one decimal and an exponent.
export function count(log10) {
  if (log10 < 6) return Math.round(10 ** log10).toLocaleString("en");
  const exponent = Math.floor(log10 + 1e-9);
  const raised = [...String(exponent)].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return `${(10 ** (log10 - exponent)).toFixed(1)} × 10${raised}`;
}
