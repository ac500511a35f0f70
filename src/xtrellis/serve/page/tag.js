// The first view: a text, its labels, why they were found, and what a person decides about them.

import * as api from "./api.js";
import { breakable, count, h, later, percent, put, say, visible } from "./dom.js";
import { marksFor } from "./marks.js";
import { picker } from "./picker.js";
import { whyPanel } from "./why.js";

const LARGEST_FILE = 4_000_000;
const LARGEST_PDF = 16_000_000;
const LONG = 100_000; // characters: browsers take minutes to lay out more in a text field, so only the beginning is shown
const SHOWN = 5_000;
function languageName(tag) {
  try {
    return `in ${new Intl.DisplayNames(["en"], { type: "language" }).of(tag)}`;
  } catch { // a tag that is none
    return `in ${visible(tag)}`;
  }
}

export function tagView(card) {
  const kinds = card.reads_pdf ? [".txt", ".md", ".pdf"] : [".txt", ".md"];
  const state = { tags: [], verdicts: new Map(), added: [], text: "", reasons: new Map(), asked: null };

  // ── the text ────────────────────────────────────────────────────────────────────────────────────────────────────
  const marks = h("div", { class: "marks", "aria-hidden": "true" });
  const area = h("textarea", { id: "text", placeholder: `Paste a text here, or drop a file (${kinds.join(", ")}).`, spellcheck: "false", dir: "auto", "aria-describedby": "keys" });
  const editor = h("div", { class: "editor" }, marks, area);
  const k = h("input", { id: "k", type: "number", min: "1", max: String(Math.min(100, card.labels)), value: String(Math.min(10, card.labels)) });
  const cut = h("select", { id: "cut" }, h("option", { value: "" }, "the best"), card.probabilities ? h("option", { value: "auto" }, "only likely ones") : null);
  // names in another language, where the vocabulary has some
  const spoken = card.languages.length > 1
    ? h("select", { id: "spoken" }, h("option", { value: "" }, "as the model has them"), card.languages.map((tag) => h("option", { value: tag }, languageName(tag)))) : null;
  const go = h("button", { class: "main", type: "button", onclick: () => find() }, "Find labels");
  const file = h("input", { type: "file", accept: `${kinds.join(",")},text/plain,text/markdown`, hidden: true, "aria-label": "Open a file" });
  const open = h("button", { type: "button", onclick: () => file.click() }, "Open a file");
  const unmark = () => put(marks);

  // A long text is kept beside the field, which shows its beginning.
  let long = null;
  const current = () => long ?? area.value;
  const note = h("p", { class: "quiet small", hidden: true });
  const clear = h("button", { type: "button", hidden: true, onclick: () => { setText(""); area.focus(); find(); } }, "Clear");
  function setText(text) {
    long = text.length > LONG ? text : null;
    area.value = long === null ? text : `${text.slice(0, SHOWN)} …`;
    area.readOnly = long !== null;
    note.hidden = clear.hidden = long === null;
    note.textContent = long === null ? "" : `A long text of ${count(text.length)} characters: its beginning is shown, all of it is read.`;
    unmark();
  }
  area.addEventListener("paste", (event) => {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    if (pasted.length <= LONG || long !== null) return;
    event.preventDefault();
    setText(pasted);
    find();
  });

  area.addEventListener("scroll", () => { marks.scrollTop = area.scrollTop; });
  area.addEventListener("input", () => { unmark(); soon(); });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); find(); }
  });
  file.addEventListener("change", () => { read(file.files[0]); file.value = ""; });
  for (const kind of ["dragenter", "dragover"]) editor.addEventListener(kind, (event) => { event.preventDefault(); editor.classList.add("over"); });
  for (const kind of ["dragleave", "drop"]) editor.addEventListener(kind, () => editor.classList.remove("over"));
  editor.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length) { event.preventDefault(); read(event.dataTransfer.files[0]); }
  });
  k.addEventListener("change", () => find());
  cut.addEventListener("change", () => find());
  spoken?.addEventListener("change", () => find());

  async function read(dropped) {
    if (!dropped) return;
    if (card.reads_pdf && (dropped.type === "application/pdf" || /\.pdf$/i.test(dropped.name))) return readPdf(dropped);
    if (dropped.size > LARGEST_FILE) return say(`${dropped.name} is larger than 4 MB`);
    const raw = new Uint8Array(await dropped.arrayBuffer());
    if (raw.subarray(0, 4000).includes(0)) return say(`${dropped.name} is not a text file`);
    setText(new TextDecoder().decode(raw));
    find();
  }

  async function readPdf(dropped) {
    if (dropped.size > LARGEST_PDF) return say(`${dropped.name} is larger than 16 MB`);
    say(`Reading ${dropped.name} …`);
    open.disabled = true;
    try {
      const told = await api.pdfText(dropped);
      setText(told.text);
      if (told.read < told.pages) say(`The first ${count(told.read)} of ${count(told.pages)} pages were read`);
      find({ quietly: told.read < told.pages });
    } catch (error) {
      say(`${dropped.name}: ${error.message}`);
    } finally {
      open.disabled = false;
    }
  }

  // ── asking ──────────────────────────────────────────────────────────────────────────────────────────────────────
  const soon = later(600, () => { if (current() !== state.asking && current().length < 20_000) find({ quietly: true }); });

  async function find({ quietly = false } = {}) {
    const text = current();
    state.asked?.abort();
    if (!text.trim()) {
      Object.assign(state, { tags: [], text, asking: text, added: [], asked: null, reason: null });
      state.verdicts.clear();
      return render();
    }
    const asked = (state.asked = new AbortController());
    state.asking = text;
    const most = Math.max(1, Math.min(Number(k.value) || 10, Number(k.max)));
    list.setAttribute("aria-busy", "true");
    try {
      const found = await api.tag({ text, model: card.id, k: most, ...(cut.value ? { threshold: cut.value } : {}), ...(spoken?.value ? { languages: [spoken.value] } : {}) }, asked.signal);
      const same = state.text === text;
      Object.assign(state, { tags: found.tags, reason: found.reason, text, reasons: new Map() });
      if (!same) { state.verdicts.clear(); state.added = []; }
      render();
      if (!quietly) say(found.tags.length ? `${found.tags.length} labels found` : "No labels found");
    } catch (error) {
      if (error.name === "AbortError") return;
      state.tags = [];
      state.reason = error.message;
      render();
      say(error.message);
    } finally {
      if (state.asked === asked) list.removeAttribute("aria-busy");
    }
  }

  async function reasonsFor(label) {
    if (!card.explains) throw new Error("This kind of model cannot explain its answers.");
    if (state.text.length > card.limits.explained) throw new Error(`Only texts of up to ${count(card.limits.explained)} characters are explained.`);
    if (!state.reasons.has(label)) {
      const asked = api.explain({ text: state.text, label, model: card.id });
      state.reasons.set(label, asked);
      asked.catch(() => state.reasons.delete(label));
    }
    return state.reasons.get(label);
  }

  let pointed = null;
  const point = later(90, async (label) => {
    if (pointed !== label) return;
    if (label === null || long !== null || area.value !== state.text) return unmark();
    try {
      const told = await reasonsFor(label);
      if (pointed === label && area.value === state.text) {
        put(marks, marksFor(state.text, told.words));
        marks.scrollTop = area.scrollTop;
      }
    } catch { /* the panel says why */ }
  });
  const pointAt = (label) => { pointed = label; point(label); };

  // ── the labels ──────────────────────────────────────────────────────────────────────────────────────────────────
  const list = h("ul", { class: "labels-list", "aria-label": "Labels of the text" });
  const empty = h("p", { class: "empty" });
  const tally = h("span", { class: "quiet small" });
  const copy = h("button", { type: "button", onclick: copyLabels }, "Copy labels");
  const send = h("button", { class: "main", type: "button", onclick: sendDecision }, "Send decision");
  const add = picker(card, (label) => {
    if (!state.tags.some((tag) => tag.id === label.id) && !state.added.some((tag) => tag.id === label.id)) {
      state.added.push({ ...label, probability: null, score: null });
    }
    if (state.verdicts.get(label.id) !== "yes") decide(label.id, "yes");
    render();
    say(`${label.label} added`);
  });
  const bottom = h("div", { class: "decide row" }, copy, card.feedback ? send : null, tally);

  function decide(label, verdict) {
    if (state.verdicts.get(label) === verdict) state.verdicts.delete(label);
    else state.verdicts.set(label, verdict);
  }

  function line(tag, longest) {
    const name = visible(tag.label);
    const known = tag.probability ?? tag.score;
    const share = known === null ? 0 : Math.max(0, Math.min(1, tag.probability ?? tag.score / longest));
    const told = known === null ? "added" : tag.probability === null ? tag.score.toPrecision(3) : percent(tag.probability);
    const panel = h("div", { class: "why", hidden: true });
    const toggle = h("button", { class: "tag-name", type: "button", "aria-expanded": "false", "data-label": tag.id, onclick: () => unfold() },
      h("span", { class: "top-line" }, h("span", { class: "name", dir: "auto" }, breakable(name)), h("span", { class: "share" }, told)),
      h("span", { class: "bar", "aria-hidden": "true" }, h("i", { "--share": `${100 * share}%` })));
    const yes = h("button", { class: "yes", type: "button", "aria-label": `Accept ${name}`, title: "Accept (y)", onclick: () => judge("yes") }, "✓");
    const no = h("button", { class: "no", type: "button", "aria-label": `Reject ${name}`, title: "Reject (n)", onclick: () => judge("no") }, "✕");
    const item = h("li", { class: "tag" }, h("div", { class: "tag-line" }, toggle, h("span", { class: "verdict" }, yes, no)), panel);

    function judge(verdict) { decide(tag.id, verdict); paint(); total(); }
    function paint() {
      const verdict = state.verdicts.get(tag.id);
      item.classList.toggle("yes", verdict === "yes");
      item.classList.toggle("no", verdict === "no");
      yes.setAttribute("aria-pressed", String(verdict === "yes"));
      no.setAttribute("aria-pressed", String(verdict === "no"));
    }
    async function unfold() {
      const opening = panel.hidden;
      toggle.setAttribute("aria-expanded", String(opening));
      panel.hidden = !opening;
      if (!opening) return;
      put(panel, h("p", { class: "quiet" }, "…"));
      try {
        put(panel, whyPanel(await reasonsFor(tag.id)));
      } catch (error) {
        put(panel, h("p", { class: "quiet" }, error.message));
      }
    }
    item.addEventListener("pointerenter", () => pointAt(tag.id));
    item.addEventListener("pointerleave", () => pointAt(null));
    item.addEventListener("focusin", () => pointAt(tag.id));
    item.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const verdict = { y: "yes", n: "no" }[event.key];
      if (verdict) { judge(verdict); event.preventDefault(); }
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        const names = [...list.querySelectorAll(".tag-name")];
        names[names.indexOf(toggle) + step]?.focus();
        event.preventDefault();
      }
    });
    paint();
    return item;
  }

  function render() {
    unmark();
    const tags = [...state.tags, ...state.added];
    const longest = Math.max(1e-9, ...state.tags.map((tag) => tag.score));
    put(list, tags.map((tag) => line(tag, longest)));
    empty.hidden = tags.length > 0;
    empty.textContent = state.reason || (state.text.trim() ? "No label is likely enough." : "Labels appear here, the most likely first.");
    bottom.hidden = !state.text.trim();
    add.element.hidden = !state.text.trim();
    total();
  }

  function total() {
    const verdicts = [...state.verdicts.values()];
    const yes = verdicts.filter((one) => one === "yes").length;
    const no = verdicts.length - yes;
    tally.textContent = yes + no ? `${yes} accepted, ${no} rejected` : "";
    send.disabled = yes + no === 0;
  }

  const chosen = () => {
    const accepted = [...state.tags, ...state.added].filter((tag) => state.verdicts.get(tag.id) === "yes");
    return accepted.length ? accepted : state.tags.filter((tag) => state.verdicts.get(tag.id) !== "no");
  };

  async function copyLabels() {
    const text = chosen().map((tag) => tag.label).join("\n");
    try {
      await navigator.clipboard.writeText(text);
    } catch { // where the page has no right to it, the old way
      const field = h("textarea", { class: "skip" });
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    say(`${count(chosen().length)} labels copied`);
  }

  async function sendDecision() {
    const of = (verdict) => [...state.verdicts].filter(([, one]) => one === verdict).map(([label]) => label);
    send.disabled = true;
    try {
      const kept = await api.feedback({
        model: card.id, text: state.text, labels: of("yes"), rejected: of("no"),
        added: state.added.map((tag) => tag.id).filter((id) => state.verdicts.get(id) === "yes"),
      });
      say(kept.learned ? "Thank you: kept, and learned from" : "Thank you: kept for the next training");
    } catch (error) {
      say(error.message);
      send.disabled = false;
    }
  }

  render();
  const element = h("div", {},
    h("h1", {}, "Which labels does a text get?"),
    h("p", { class: "quiet" }, `${count(card.labels)} labels, learned from ${count(card.rows)} texts.`),
    h("div", { class: "two" },
      h("section", { class: "card", "aria-label": "Text" },
        h("label", { for: "text" }, h("strong", {}, "Text")), editor, note,
        h("div", { class: "row" }, go, open, clear, file),
        h("div", { class: "row" }, h("span", {}, h("label", { for: "k" }, "at most "), k), h("span", {}, h("label", { for: "cut" }, "show "), cut),
          spoken ? h("span", {}, h("label", { for: "spoken" }, "named "), spoken) : null),
        h("p", { id: "keys", class: "quiet small" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"), " finds labels. On a label: ",
          h("kbd", {}, "↑"), h("kbd", {}, "↓"), " move, ", h("kbd", {}, "y"), " accepts, ", h("kbd", {}, "n"), " rejects, ", h("kbd", {}, "Enter"), " tells why.")),
      h("section", { class: "card", "aria-label": "Labels" }, h("h2", {}, "Labels"), list, empty, add.element, bottom)));
  return { element };
}
