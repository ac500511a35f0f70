// The API's description, as /openapi.json has it, for people.

import { h, put } from "./dom.js";

const main = document.getElementById("main");

function show(api) {
  const named = (schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema) || {};
  const name = (schema) => schema?.$ref?.split("/").pop() || schema?.type || (schema?.enum ? schema.enum.join(" | ") : (schema?.anyOf || []).map(name).join(" or "));
  const fields = (schema) => {
    const { properties = {}, required = [] } = named(schema);
    const rows = Object.entries(properties).map(([field, its]) =>
      h("tr", {}, h("td", {}, h("code", {}, field), required.includes(field) ? " *" : ""), h("td", {}, kind(its)), h("td", {}, its.description || (its.anyOf || []).map((one) => one.description).find(Boolean) || "")));
    return rows.length ? h("table", {}, h("tbody", {}, rows)) : null;
  };
  const kind = (its) => (its.type === "array" ? `list of ${name(its.items)}` : name(its));
  const operation = (path, method, told) => h("details", { class: "card", id: told.operationId },
    h("summary", {}, h("span", { class: "method" }, method.toUpperCase()), h("code", {}, path), ` — ${told.summary}`),
    told.parameters ? [h("h3", {}, "Parameters"), h("table", {}, h("tbody", {}, told.parameters.map((one) =>
      h("tr", {}, h("td", {}, h("code", {}, one.name)), h("td", {}, one.in), h("td", {}, kind(one.schema)), h("td", {}, one.description || "")))))] : null,
    told.requestBody ? Object.entries(told.requestBody.content).map(([type, { schema }]) => [h("h3", {}, `Body: ${type}`), h("p", { class: "small" }, kind(schema)), fields(schema.items || schema)]) : null,
    h("h3", {}, "Answers"), h("table", {}, h("tbody", {}, Object.entries(told.responses).map(([code, one]) =>
      h("tr", {}, h("td", {}, code), h("td", {}, one.description), h("td", {}, Object.entries(one.content || {}).map(([type, { schema }]) => `${name(schema)} (${type})`).join(", ")))))));
  const groups = { xtrellis: [], Annif: [] };
  for (const [path, methods] of Object.entries(api.paths)) for (const [method, told] of Object.entries(methods)) groups[told.tags[0]].push(operation(path, method, told));
  put(main, h("h1", {}, `${api.info.title} ${api.info.version}`), h("p", { class: "quiet" }, api.info.description),
    h("pre", {}, `curl -s ${location.origin}/tag -H 'Content-Type: application/json' -d '{"text": "…", "k": 5}'`),
    Object.entries(groups).map(([group, operations]) => h("section", { class: "stack" }, h("h2", {}, group === "Annif" ? "Annif's REST API" : "Our API"), operations)));
}

fetch("/openapi.json").then((answer) => answer.json()).then(show).catch((error) => put(main, h("p", { role: "alert" }, error.message)));
