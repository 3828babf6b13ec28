// The OpenAPI description as a page to read, from this server alone.
import "/static/theme.js";
import { ask } from "/static/api.js";
import { byId, make } from "/static/dom.js";

const EXAMPLES = {
  "/predict": { text: "a fine film with a weak ending" },
  "/certify": { text: "a fine film with a weak ending" },
  "/attack": { text: "a fine film with a weak ending", method: "pwws" },
  "/attack/live": { text: "a fine film with a weak ending" },
};

function example(path, method) {
  const address = `${location.origin}${path}`;
  if (method === "get") return `curl ${address}`;
  if (path === "/certify/csv") return `curl -H 'Content-Type: text/csv' --data-binary @reviews.csv '${address}?text=text' -o certified.csv`;
  return `curl -H 'Content-Type: application/json' -d '${JSON.stringify(EXAMPLES[path] || {})}' ${address}`;
}

// What stands between backticks is code.
const prose = (words) => make("p", {}, ...words.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part)));

function kind(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(kind).join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return `list of ${kind(schema.items)}`;
  if (schema.additionalProperties) return `map to ${kind(schema.additionalProperties)}`;
  return schema.type || "";
}

function fields(rows, caption) {
  if (!rows.length) return "";
  const body = make("tbody");
  for (const [name, needed, type, about] of rows) {
    body.append(make("tr", {}, make("td", {}, make("code", {}, name)), make("td", {}, type), make("td", {}, needed ? "needed" : ""), make("td", {}, about)));
  }
  const head = make("tr", {}, ...["Field", "Kind", "", "Meaning"].map((name) => make("th", { scope: "col" }, name)));
  return make("div", {}, make("h3", {}, caption), make("div", { class: "scroll", tabindex: "0" }, make("table", {}, make("thead", {}, head), body)));
}

function endpoint(description, path, method, operation) {
  // A schema by its reference; of several to choose from, the fields of all, needed where every one needs them.
  const named = (schema) => {
    const choices = schema && (schema.oneOf || schema.anyOf);
    if (!choices) return schema && schema.$ref ? description.components.schemas[schema.$ref.split("/").pop()] : schema;
    const parts = choices.map(named);
    const needed = (name) => parts.every((part) => (part.required || []).includes(name));
    const fields = Object.assign({}, ...parts.map((part) => part.properties));
    return { description: parts.map((part) => part.description).join(" Or: "), properties: fields, required: Object.keys(fields).filter(needed) };
  };
  const properties = (schema) => Object.entries((schema && schema.properties) || {}).map(([name, field]) =>
    [name, (schema.required || []).includes(name), kind(field), field.description || ""]);
  const parameters = (operation.parameters || []).map((each) => [each.name, each.required, kind(each.schema), each.description || ""]);
  const body = operation.requestBody ? Object.entries(operation.requestBody.content)[0] : null;
  const [answerKind, answer] = Object.entries((operation.responses["200"] || {}).content || {})[0] || ["", {}];
  const inner = named(answer.schema && answer.schema.type === "array" ? answer.schema.items : answer.schema);
  return make("section", { class: "card endpoint" },
    make("h2", {}, make("span", { class: "method" }, method.toUpperCase()), path),
    prose(operation.description || operation.summary || ""),
    make("pre", { tabindex: "0" }, example(path, method)),
    fields(parameters, "In the address"), body ? fields(properties(named(body[1].schema)), `In the body (${body[0]})`) : "",
    prose((inner && inner.description) || (operation.responses["200"] || {}).description || ""),
    fields(properties(inner).map(([name, , type, about]) => [name, false, type, about]), `In the answer (${answerKind})`));
}

async function start() {
  try {
    const description = await (await ask("/openapi.json")).json();
    byId("about").replaceChildren(prose(description.info.description));
    const found = Object.entries(description.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => endpoint(description, path, method, operation)));
    byId("endpoints").replaceChildren(...found);
  } catch (problem) {
    byId("endpoints").textContent = problem.message;
  }
}

start();
