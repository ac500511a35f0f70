// Search label names and choose one: a combobox that works with the keyboard and with a screen reader.

import * as api from "./api.js";
import { count, h, later, put, visible } from "./dom.js";

let number = 0;

export function picker(card, choose) {
  const id = `picker-${(number += 1)}`;
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": "Labels found", hidden: true });
  const input = h("input", {
    id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", placeholder: "Add a label by its name",
    "aria-label": "Add a label by its name", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`,
  });
  let found = [];
  let at = -1;
  let asked = null;

  function close() {
    found = [];
    at = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function paint() {
    put(list, found.map((label, i) =>
      h("li", { id: `${id}-${i}`, role: "option", "aria-selected": String(i === at), onpointerdown: (event) => { event.preventDefault(); take(i); } },
        h("span", { dir: "auto" }, visible(label.label)), h("span", { class: "quiet small" }, count(label.rows)))));
    list.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    if (at >= 0) {
      input.setAttribute("aria-activedescendant", `${id}-${at}`);
      list.children[at].scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }

  function take(i) {
    const label = found[i];
    input.value = "";
    close();
    choose(label);
    input.focus();
  }

  const search = later(120, async () => {
    const q = input.value.trim();
    asked?.abort();
    if (!q) return close();
    asked = new AbortController();
    try {
      const answer = await api.labels(card.id, { q: q.slice(0, 200), limit: 12 }, asked.signal);
      found = answer.labels;
      at = found.length ? 0 : -1;
      paint();
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  });

  input.addEventListener("input", search);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return close();
    if (event.key === "Enter" && at >= 0) { event.preventDefault(); return take(at); }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) {
      event.preventDefault();
      at = (at + step + found.length) % found.length;
      paint();
    }
  });
  return { element: h("div", { class: "picker" }, input, list), input };
}
