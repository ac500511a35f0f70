// The second view: the vocabulary, searched or listed, and the label tree to walk through.

import * as api from "./api.js";
import { count, h, later, put, visible } from "./dom.js";

const PAGE = 50;

export function labelsView(card) {
  const search = h("input", { id: "label-search", type: "search", placeholder: "Search names", spellcheck: "false", autocomplete: "off" });
  const order = h("select", { id: "order" }, h("option", { value: "frequency" }, "most frequent first"), h("option", { value: "name" }, "by name"));
  const total = h("p", { class: "quiet small", "aria-live": "polite" });
  const list = h("ul", { class: "plain-list" });
  const more = h("button", { type: "button", hidden: true, onclick: () => load(list.children.length) }, "Show more");
  let largest = 1;
  let asked = null;

  async function load(offset = 0) {
    asked?.abort();
    asked = new AbortController();
    try {
      const found = await api.labels(card.id, { q: search.value.slice(0, 1000), order: order.value, limit: PAGE, offset }, asked.signal);
      if (offset === 0) largest = Math.max(1, ...found.labels.map((label) => label.rows));
      const rows = found.labels.map(row);
      if (offset === 0) put(list, rows);
      else list.append(...rows);
      more.hidden = list.children.length >= found.total;
      total.textContent = `${count(found.total)} labels`;
    } catch (error) {
      if (error.name !== "AbortError") total.textContent = error.message;
    }
  }

  const row = (label) => h("li", { class: "label-row" },
    h("span", {}, h("span", { class: "name", dir: "auto" }, visible(label.label)),
      label.id !== label.label ? h("span", { class: "quiet small" }, ` ${visible(label.id)}`) : null,
      h("span", { class: "bar", "aria-hidden": "true" }, h("i", { "--share": `${Math.min(100, (100 * label.rows) / largest)}%` }))),
    h("span", { class: "number" }, count(label.rows)));

  search.addEventListener("input", later(150, () => load()));
  order.addEventListener("change", () => load());

  const place = h("div", {});
  async function walk(node) {
    try {
      const there = await api.tree(card.id, node);
      put(place,
        h("ol", { class: "crumbs" },
          there.way.map((above, i) => h("li", {}, h("a", { href: `#/labels/${above.node}` }, i ? short(above) : "all labels"))),
          h("li", { "aria-current": "true" }, there.way.length ? short(there) : "all labels")),
        h("p", { class: "quiet small" }, `${count(there.n_labels)} labels below here (those that sit in several places count for each)`),
        there.nodes.map((below) => h("a", { class: "node", href: `#/labels/${below.node}` },
          h("span", { dir: "auto" }, below.typical.map(visible).join(" · ")), h("span", { class: "quiet small" }, ` \u2002${count(below.n_labels)}`))),
        there.labels.length ? h("ul", { class: "plain-list" }, there.labels.map(row)) : null,
        there.more ? h("p", { class: "quiet" }, `and ${count(there.more)} more`) : null);
    } catch (error) {
      put(place, h("p", { class: "quiet" }, error.message));
    }
  }
  const short = (node) => node.typical.slice(0, 2).map(visible).join(" · ");

  const element = h("div", {},
    h("h1", {}, "Labels"),
    h("p", { class: "quiet" }, `All ${count(card.labels)} that the model knows, and how many texts it has learned each from.`),
    h("div", { class: card.tree ? "two" : "" },
      h("section", { class: "card", "aria-label": "Names" },
        h("h2", {}, h("label", { for: "label-search" }, "Names")), h("div", { class: "row" }, search,
          h("span", {}, h("label", { for: "order" }, "order "), order)), total, list, h("p", {}, more)),
      card.tree ? h("section", { class: "card", "aria-label": "Label tree" }, h("h2", {}, "Label tree"),
        h("p", { class: "quiet small" }, "Labels that are used alike sit together. A node is called by its most frequent labels."), place) : null));
  load();
  return { element, shown: ([node]) => { if (card.tree) walk(Number(node) || 0); } };
}
