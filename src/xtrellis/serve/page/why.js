// Why a label was found: what witnesses said, words that spoke, ways through the tree, neighbours, names.

import { count, h, percent, visible } from "./dom.js";

const MOST = 8;
const AT_ONCE = 3; // similar texts; the others wait behind a line
const signed = (x) => (x >= 0 ? "+" : "−") + Math.abs(x).toFixed(2);
const WITNESS = { LinearTree: "tree of classifiers", Neighbors: "similar texts", NameMatcher: "the label's name", "NameMatcher (title)": "the label's name in the first words", SoftmaxTree: "tree of vectors" };

export function whyPanel(told) {
  const parts = [];
  if (told.verdict) parts.push(...verdict(told.verdict));
  parts.push(...evidence(told));
  for (const member of told.members || []) parts.push(...evidence(member));
  if (told.rank === null) parts.unshift(h("p", { class: "quiet" }, "The model's search does not find this label for the text."));
  return parts.length ? parts : h("p", { class: "quiet" }, "There is nothing to tell.");
}

function verdict(said) {
  const rows = said.testimonies.map((one) =>
    h("tr", {}, h("td", {}, WITNESS[one.witness] || one.witness),
      h("td", { class: "number" }, one.score === null ? "–" : one.score.toPrecision(2)),
      h("td", { class: "number" }, one.rank === null ? "–" : String(one.rank)), h("td", { class: "number" }, signed(one.added))));
  return [h("h3", {}, `Witnesses: together ${percent(said.probability)}`),
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "who"), h("th", { scope: "col", class: "number" }, "score"),
      h("th", { scope: "col", class: "number" }, "rank"), h("th", { scope: "col", class: "number" }, "adds"))), h("tbody", {}, rows))];
}

function evidence(told) {
  const parts = [];
  const ways = (told.paths || []).filter((path) => path.steps.length);
  if (ways.length) {
    const steps = ways[0].steps;
    const spoke = chips(steps[steps.length - 1].features);
    if (spoke) parts.push(h("h3", {}, "Words that spoke"), spoke);
    parts.push(h("h3", {}, ways.length > 1 ? `The way through the tree (the best of ${ways.length})` : "The way through the tree"),
      h("ol", { class: "steps" }, steps.map(step)));
  }
  if (told.neighbors?.length) {
    const others = told.neighbors.slice(AT_ONCE, MOST).map(neighbor);
    parts.push(h("h3", {}, "Similar texts that the model has learned from"), h("div", {}, told.neighbors.slice(0, AT_ONCE).map(neighbor),
      others.length ? h("details", { class: "small" }, h("summary", {}, `${others.length} more`), others) : null));
  }
  for (const match of told.matches || []) {
    parts.push(h("h3", {}, "Its name in the text"),
      h("p", {}, h("strong", { dir: "auto" }, visible(match.name)), match.exact ? " stands there as it is" : match.whole ? " is there in other words or order" : " is there in part",
        `: ${percent(match.score)} by the name alone.`), chips(match.reasons.map((one) => ({ name: one.meaning, contribution: one.amount }))));
  }
  if (told.opinion) {
    parts.push(h("h3", {}, `A second look: ${signed(told.opinion.margin)}`), chips(told.opinion.features));
  }
  return parts;
}

function chips(features) {
  const shown = (features || []).filter((one) => Math.abs(one.contribution) > 1e-4).slice(0, MOST);
  if (!shown.length) return null;
  return h("div", { class: "chips" }, shown.map((one) =>
    h("span", { class: one.contribution < 0 ? "chip down" : "chip", dir: "auto" }, `${visible(String(one.name ?? one.feature))} ${signed(one.contribution)}`)));
}

function step(one) {
  const names = one.labels.map((label) => visible(label.name ?? String(label.label)));
  const about = one.node === null ? h("strong", { dir: "auto" }, names[0]) : h("span", { dir: "auto" }, names.slice(0, 3).join(" · "));
  const size = one.node === null ? "" : ` (${count(one.n_labels)} labels)`;
  const place = one.rank === null ? "not looked at" : `${count(one.rank)} of ${count(one.rivals)}`;
  return h("li", { class: one.kept ? "" : "lost" }, about, h("span", { class: "quiet" }, `${size} ${percent(one.score)}, ${place}`));
}

function neighbor(one) {
  const labels = one.labels.slice(0, 6).map((label) => visible(label.name ?? String(label.label))).join(" · ");
  return h("div", { class: "neighbor" },
    one.text ? h("div", { dir: "auto" }, `“${visible(one.text)}”`) : h("div", { class: "quiet" }, `text ${count(one.row)} of the training`),
    h("div", { class: "quiet small" }, `${Math.round(100 * one.similarity)} % alike, ${one.votes ? "has this label" : "has others"}: ${labels}`));
}
