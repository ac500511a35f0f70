"""Places of labels one by one: which meaning of a label each serves (for the rows that have it, the place that scores
highest wins), what their plain mean would answer, and how many labels of rows search looks at in any place.

For this a packed tree is looked at with every place as a label of its own; weights stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Csr, Int64, Rows, TopK, as_labels, as_rows, assemble, ranges, row_numbers, take_rows
from ..core import InputError
from ..data import Dataset
from ..index import LabelTree, leaf_nodes
from ..linear import LinearTree, PackedTree, score_given

if TYPE_CHECKING:
    from rich.console import RenderableType

SPARE = 6  # times k places are asked for to find the k best labels
CHUNK = 2048  # rows that are looked at together


@dataclass(frozen=True)
class Place:
    """One place of a label: its cluster, the rows it wins, what these rows are about."""

    cluster: int  # a node of the tree
    rows: int
    meanings: dict[str, int]  # of a fused label, how many of these rows have each of its parts, the most first
    neighbours: list[str]  # labels in the same cluster, those of most rows first
    examples: list[str]  # beginnings of texts of the rows it wins most clearly


@dataclass(frozen=True)
class Copies:
    """The places of one label."""

    label: int
    name: str
    rows: int
    places: list[Place]

    @property
    def purity(self) -> float:
        """The share of rows that the place of their meaning wins; needs meanings, else 1."""
        told = [max(p.meanings.values(), default=p.rows) for p in self.places]
        return min(1.0, sum(told) / max(1, self.rows))


@dataclass(frozen=True)
class CopiesReport:
    """What the places of some labels are for."""

    copies: list[Copies]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"labels": [asdict(copies) for copies in self.copies]}

    def render(self) -> RenderableType:
        """For a terminal."""
        from rich.text import Text

        out = Text()
        for copies in self.copies:
            out.append(f"{copies.name}", style="bold cyan")
            out.append(f"  {copies.rows:,} rows, {len(copies.places)} places\n", style="dim")
            for place in copies.places:
                out.append(f"  cluster {place.cluster}: {place.rows:,} rows", style="bold")
                out.append(f"  beside {', '.join(place.neighbours)}\n" if place.neighbours else "\n", style="dim")
                if place.meanings:
                    out.append("    " + ", ".join(f"{name} {n:,}" for name, n in place.meanings.items()) + "\n")
                for example in place.examples:
                    out.append(f"    · {example}\n", style="italic")
        return out

    def to_html(self, title: str = "Labels in several places") -> str:
        """A page of its own, without scripts or other files."""
        parts = []
        for copies in self.copies:
            cells = "".join(_html_place(place, copies.rows) for place in copies.places)
            parts.append(
                f"<section><h2>{escape(copies.name)}</h2><p>{copies.rows:,} rows, {len(copies.places)} places</p>"
                f'<div class="places">{cells}</div></section>'
            )
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
        )


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h2{margin-bottom:0}.places{display:flex;flex-wrap:wrap;gap:1rem}"
    ".places>div{flex:1 1 20rem;border:1px solid #ccc;border-radius:6px;padding:.5rem 1rem}"
    ".bar{background:#4a7;height:6px;border-radius:3px}small{color:#666}li{margin:.2rem 0}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}small{color:#aaa}}"
)


def _html_place(place: Place, rows: int) -> str:
    meanings = ", ".join(f"{escape(name)} <small>{n:,}</small>" for name, n in place.meanings.items())
    texts = "".join(f"<li>{escape(example)}</li>" for example in place.examples)
    beside = ", ".join(map(escape, place.neighbours))
    return (
        f"<div><h3>cluster {place.cluster}: {place.rows:,} rows</h3>"
        f'<div class="bar" style="width:{100 * place.rows / max(1, rows):.0f}%"></div>'
        f"<p>{meanings}</p><ul>{texts}</ul><p><small>beside {beside}</small></p></div>"
    )


def copies_report(
    model: LinearTree,
    dataset: Dataset,
    *,
    X: Any = None,
    tree: int = 0,
    labels: Sequence[int] | None = None,
    most: int = 10,
    examples: int = 3,
    original: Dataset | None = None,
    fused: Int64 | None = None,
) -> CopiesReport:
    """For `labels` (else the `most` frequent ones with several places that all win rows): which rows each place wins.

    `dataset` has labels in the model's numbering; `X` are its rows' features if it has only texts. For fused labels,
    `original` is the data before `entangle` and `fused` the map that it gave: then places are named by the meanings
    they serve.
    """
    packed = model.trees[tree]
    rows_of_x = as_rows(dataset.X if X is None else X, n_features=packed.n_features, unit=model.normalize_rows)
    shape = packed.tree
    offsets, slots = shape.label_slots
    several = np.flatnonzero(np.diff(offsets) > 1)
    if (original is None) != (fused is None):
        raise InputError("original and fused belong together: the data before entangle, and the map it gave")
    Y = as_labels(dataset.Y)
    counts = np.bincount(Y.indices, minlength=shape.n_labels)
    if labels is None:
        asked = several[np.argsort(-counts[several], kind="stable")][: 20 * most]
    else:
        asked = np.asarray(labels, np.int64)
        if len(asked) and (asked.min() < 0 or asked.max() >= shape.n_labels):
            raise InputError(f"labels must be from 0 to {shape.n_labels - 1}")
    rows, which, scores = _scores(packed, rows_of_x, Y, asked, model.threads)
    out = []
    for label in asked.tolist():
        mine = np.flatnonzero(which == label)
        n_places = int(offsets[label + 1] - offsets[label])
        if not len(mine):
            continue
        table = np.stack([scores[m] for m in mine])  # rows × places
        winner = table.argmax(axis=1)
        if labels is None and len(np.unique(winner)) < min(2, n_places):
            continue
        places = [
            _place(shape, int(slots[offsets[label] + c]), label, rows[mine], winner == c, table[:, c], dataset, counts,
                   examples, original, fused)
            for c in range(n_places)
        ]  # fmt: skip
        name = str(label) if dataset.label_names is None else dataset.label_names[label]
        out.append(Copies(label, name, len(mine), places))
        if labels is None and len(out) == most:
            break
    return CopiesReport(out)


def _scores(packed: PackedTree, X: Rows, Y: Csr, labels: Int64, threads: int | None) -> tuple[Int64, Int64, list[Any]]:
    """For every pair (row, label) of Y with one of the labels: the scores of all places of the label."""
    tree = packed.tree
    offsets, slots = tree.label_slots
    number = np.cumsum(tree.children < 0) - 1  # of every place, in the order of the slots
    places_apart, of_places = apart(packed)
    rows = row_numbers(Y)
    wanted = np.flatnonzero(np.isin(Y.indices, labels))
    rows, which = rows[wanted], Y.indices[wanted].astype(np.int64)
    sizes = np.diff(offsets)[which]
    places = number[slots[ranges(offsets[which], sizes)]]
    order = np.lexsort((places, np.repeat(rows, sizes)))
    indptr = np.searchsorted(np.repeat(rows, sizes), np.arange(Y.shape[0] + 1)).astype(np.int64)
    asked = assemble(
        np.ones(len(order), np.float32), places[order].astype(np.int32), indptr, (Y.shape[0], len(of_places))
    )
    found = score_given([places_apart], X, asked, threads=threads).data
    back = np.empty(len(order), np.float32)
    back[order] = found
    return rows, which, np.split(back, np.cumsum(sizes)[:-1])


def _place(
    tree: LabelTree, slot: int, label: int, rows: Int64, wins: Any, scores: Any, dataset: Dataset, counts: Int64,
    examples: int, original: Dataset | None, fused: Int64 | None,
) -> Place:  # fmt: skip
    node = int(tree.owner[slot])
    won = rows[wins]
    clearest = won[np.argsort(-scores[wins], kind="stable")][:examples]
    texts = [] if dataset.texts is None else [" ".join(dataset.texts[int(r)].split())[:160] for r in clearest]
    children = tree.children[tree.offsets[node] : tree.offsets[node + 1]]
    beside = ~children[children < 0]
    beside = beside[beside != label]
    beside = beside[np.argsort(-counts[beside], kind="stable")][:4]
    names = dataset.label_names
    meanings: dict[str, int] = {}
    if original is not None and fused is not None:
        parts = np.flatnonzero(fused == label)
        ones = np.concatenate(
            [original.Y.indices[original.Y.indptr[r] : original.Y.indptr[r + 1]] for r in won] or [parts[:0]]
        )
        tally = np.bincount(ones, minlength=original.n_labels)[parts]
        told = original.label_names
        meanings = {
            str(parts[i]) if told is None else told[int(parts[i])]: int(tally[i])
            for i in np.argsort(-tally, kind="stable")
            if tally[i]
        }
    return Place(node, len(won), meanings, [str(b) if names is None else names[int(b)] for b in beside.tolist()], texts)


def apart(packed: PackedTree) -> tuple[PackedTree, Int64]:
    """The tree with its places as labels, numbered in the order of the slots, and the label of each."""
    tree = packed.tree
    held = np.flatnonzero(tree.children < 0)
    children = tree.children.copy()
    children[held] = ~np.arange(len(held), dtype=np.int32)
    places = PackedTree(
        LabelTree(tree.offsets, children, len(held)), packed.arrays, packed.n_features,
        transform=packed.transform, storage=packed.storage,
    )  # fmt: skip
    return places, (~tree.children[held]).astype(np.int64)


def plain_mean(model: LinearTree, X: Any, k: int) -> TopK:
    """The k best labels by the mean of the scores of all places that search finds, however faint (the paper's rule).

    Search itself leaves out places below half of a label's best one, or takes the best alone.
    """
    places, labels = apart(model.trees[0])
    n_labels, n_places = model.n_labels, len(labels)
    found = LinearTree.of_trees([places], model).predict(X, k=min(SPARE * k, n_places))
    rows, at = np.nonzero(found.labels >= 0)
    pairs, which = np.unique(rows * n_labels + labels[found.labels[rows, at]], return_inverse=True)
    mean = np.bincount(which, found.scores[rows, at]) / np.bincount(which)
    rows, ids = pairs // n_labels, pairs % n_labels
    ranks = model.trees[0].label_ranks
    order = np.lexsort((ranks[ids] if len(ranks) else ids, -mean, rows))
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)  # rows ascend, before and after
    best = rank < k
    shape = (found.labels.shape[0], k)
    out, scores = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)
    out[rows[best], rank[best]], scores[rows[best], rank[best]] = ids[order][best], mean[order][best]
    return TopK(out, scores, n_labels)


def search_coverage(model: LinearTree, X: Any, Y: Any, *, rows: int = 4096) -> float:
    """The share of true pairs (row, label) among all labels that search looks at, within its beam; of so many rows."""
    chosen = np.unique(np.linspace(0, X.shape[0] - 1, min(rows, X.shape[0])).astype(np.int64))
    true, tree = take_rows(as_labels(Y), chosen), model.tree
    leaves = leaf_nodes(tree)
    sizes, depths = np.bincount(tree.owner[tree.label_slots[1]])[leaves], tree.node_depths[leaves]
    most = sum(int(np.sort(sizes[depths == depth])[::-1][: model.beam].sum()) for depth in np.unique(depths))
    k = min(model.n_labels, most)  # room for all: nothing that search looks at is left out
    hits = 0
    for first in range(0, len(chosen), CHUNK):
        top = model.predict(X[chosen[first : first + CHUNK]], k=k)
        hits += _hits(true, first, top.labels)
    return hits / max(1, int(true.nnz))


def _hits(Y: Csr, first: int, found: Array) -> int:
    """True pairs among those found, for the rows from `first` on."""
    n_rows, n_labels = len(found), int(Y.shape[1])
    rows = row_numbers(Y)
    begin, end = Y.indptr[first], Y.indptr[first + n_rows]
    wanted = (rows[begin:end] - first) * n_labels + Y.indices[begin:end]
    numbers = (np.arange(n_rows)[:, None] * n_labels + found)[found >= 0]
    return int(np.isin(wanted, numbers).sum())
