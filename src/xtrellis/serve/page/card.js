// The third view: what the model is, what it was made from, how good it was, and whether its probabilities hold.

import { count, h, svg, visible } from "./dom.js";

const plain = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
const when = (date) => (Number.isNaN(Date.parse(date)) ? date : new Date(date).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }));
const number = (x) => (Number.isInteger(x) ? count(x) : x.toFixed(x < 1 ? 3 : 1));
const bytes = (n) => { for (const unit of ["B", "kB", "MB", "GB"]) { if (n < 1000) return `${n.toFixed(unit === "B" ? 0 : 1)} ${unit}`; n /= 1000; } return `${n.toFixed(1)} TB`; };

export function cardView(card) {
  const { about = {}, folder } = card;
  const held = about.held_out || {};
  const metrics = Object.entries(held.metrics || {}).filter(([, value]) => typeof value === "number");
  const data = about.data || {};
  const facts = [
    ["Kind", about.preset ? `${card.kind} (preset ${about.preset})` : card.kind], ["Labels", count(card.labels)],
    ["Learned from", `${count(card.rows)} texts`], ["Data", (data.files || []).join(", ") || null], ["Trained", about.date && when(about.date)],
    ["Last changed", when(card.changed)], ["Size on disk", bytes(folder.total_size)],
    ["Written by", Object.entries(folder.written_by).map(([name, version]) => `${name} ${version}`).join(", ")],
    ["Version here", `${card.version}, loaded ${when(card.loaded)}`],
    ["Decisions", card.learns ? "kept, and learned from at once" : card.feedback ? "kept for the next training" : "not kept"],
    ["Languages of names", card.languages.join(", ")],
    ...Object.entries(about.notes || {}).filter(([name]) => name !== "name").map(([name, value]) => [name, plain(value)]),
  ].filter(([, value]) => value);
  const rare = Object.entries(card.labels_with_rows_at_most || {});
  const element = h("div", {},
    h("h1", { dir: "auto" }, visible(String(about.notes?.name ?? card.id))), h("p", { class: "quiet" }, `The model card of ${card.id}`),
    card.fault ? h("p", { class: "banner", role: "alert" }, `A newer model is there, but cannot be loaded: ${card.fault}`) : null,
    h("div", { class: "two" },
      h("div", { class: "stack" },
        h("section", { class: "card", "aria-labelledby": "c-what" }, h("h2", { id: "c-what" }, "What it is"), definitions(facts)),
        rare.length ? h("section", { class: "card", "aria-labelledby": "c-rare" }, h("h2", { id: "c-rare" }, "How frequent its labels are"),
          h("table", {}, h("tbody", {}, rare.map(([n, labels]) => h("tr", {}, h("th", { scope: "row" }, `labels of ${n === "1" ? "one text" : `at most ${n} texts`}`),
            h("td", { class: "number" }, `${count(labels)} (${Math.round((100 * labels) / card.labels)} %)`)))))) : null,
        card.tree_shape ? h("section", { class: "card", "aria-labelledby": "c-tree" }, h("h2", { id: "c-tree" }, "Its label tree"),
          definitions(Object.entries(card.tree_shape).map(([name, value]) => [name, number(value)]))) : null),
      h("div", { class: "stack" },
        h("section", { class: "card", "aria-labelledby": "c-good" }, h("h2", { id: "c-good" }, "How good it was"),
          metrics.length ? [h("dl", { class: "metrics" }, metrics.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value.toFixed(1))))),
            h("p", { class: "quiet small" }, `Percent, on ${count(held.rows ?? 0)} texts that it had not seen${held.of ? `; of ${held.of}` : ""}.`)]
            : h("p", { class: "quiet" }, "Nothing was measured when it was trained.")),
        about.reliability ? h("section", { class: "card", "aria-labelledby": "c-rel" }, h("h2", { id: "c-rel" }, "Do its probabilities hold?"), diagram(about.reliability)) : null,
        h("section", { class: "card", "aria-labelledby": "c-parts" }, h("h2", { id: "c-parts" }, "Its parts"),
          folder.objects.map((part) => h("details", {}, h("summary", {}, `${part.name}: ${part.class}`), definitions(Object.entries(part.params).map(([name, value]) => [name, plain(value)]))))))));
  return { element };
}

const definitions = (pairs) => h("dl", { class: "facts" }, pairs.map(([name, value]) => [h("dt", {}, visible(name)), h("dd", { dir: "auto" }, visible(String(value)))]));

/** What answers claimed against how often they were right; bars: how many claimed it. */
function diagram(told) {
  const bins = told.bins.filter((bin) => bin.answers > 0);
  const [left, top, size] = [34, 8, 210];
  const x = (p) => left + p * size;
  const y = (p) => top + (1 - p) * size;
  const most = Math.max(...bins.map((bin) => Math.log1p(bin.answers)), 1);
  const points = bins.map((bin) => `${x(bin.claimed)},${y(bin.right)}`).join(" ");
  const words = bins.map((bin) => `${Math.round(100 * bin.claimed)} % claimed, ${Math.round(100 * bin.right)} % right`).join("; ");
  return h("div", {},
    svg("svg", { class: "chart", viewBox: "0 0 260 310", role: "img", "aria-label": `Reliability diagram. ${words}` },
      [0, 0.25, 0.5, 0.75, 1].map((p) => [
        svg("line", { class: "axis", x1: x(0), x2: x(1), y1: y(p), y2: y(p) }),
        svg("text", { x: left - 6, y: y(p) + 4, "text-anchor": "end" }, String(100 * p)),
        svg("text", { x: x(p), y: y(0) + 16, "text-anchor": "middle" }, String(100 * p))]),
      svg("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
      svg("polyline", { class: "curve", points }), bins.map((bin) => svg("circle", { class: "dot", cx: x(bin.claimed), cy: y(bin.right), r: 3.5 })),
      bins.map((bin) => { const tall = (40 * Math.log1p(bin.answers)) / most; return svg("rect", { class: "count", x: x(bin.claimed) - 4, y: 300 - tall, width: 8, height: tall }); }),
      svg("text", { x: x(0.5), y: 256, "text-anchor": "middle" }, "% claimed, and how many claim it")),
    h("p", { class: "quiet small" }, `On the dashed line, answers that claim 70 % are right seven times in ten. On average they are ${(100 * told.ece).toFixed(1)} points away (first ${told.k} answers of each text).`));
}
