// Which view is shown, of which model.

import * as api from "./api.js";
import { h, put, say } from "./dom.js";
import { cardView } from "./card.js";
import { labelsView } from "./labels.js";
import { tagView } from "./tag.js";

const VIEWS = { tag: ["Tag", tagView], labels: ["Labels", labelsView], model: ["Model", cardView] };
const main = document.getElementById("main");
const choice = document.getElementById("model");
const kept = new Map(); // views keep what was typed while others are looked at
let cards = new Map();
let shown = null;

async function card(id) {
  if (!cards.has(id)) cards.set(id, await api.card(id));
  return cards.get(id);
}

async function show() {
  const [name = "tag", ...rest] = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  const [title, view] = VIEWS[name] || VIEWS.tag;
  const model = choice.value;
  document.title = `${title} · xtrellis`;
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.getAttribute("href") === `#/${VIEWS[name] ? name : "tag"}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    const key = `${title} ${model}`;
    if (!kept.has(key)) kept.set(key, await view(await card(model)));
    const made = kept.get(key);
    put(main, made.element);
    made.shown?.(rest);
    if (shown !== null && shown !== key) {
      main.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    shown = key;
  } catch (error) {
    put(main, h("div", { class: "card" }, h("h1", {}, "This did not work"), h("p", {}, error.message)));
  }
}

async function start() {
  const { models } = await api.models();
  put(choice, models.map((model) => h("option", { value: model.id }, model.id)));
  choice.parentElement.hidden = models.length < 2;
  const before = sessionStorage.getItem("model");
  if (models.some((model) => model.id === before)) choice.value = before;
  choice.addEventListener("change", () => {
    sessionStorage.setItem("model", choice.value);
    say(`Model ${choice.value}`);
    show();
  });
  addEventListener("hashchange", show);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  await show();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => put(main, h("p", { role: "alert" }, error.message)));
