"""Explaining an answer: the same sums as search, kept apart by feature, and the beam watched as it narrows.

Best-first search is explained by the same walk, level by level. A node never scores more than its parent, so best-first
expands the nodes of a depth in the order of their scores, and all of a beam before what comes after it: with the same
beam it finds what beam search finds, only sooner done (`slack` aside, for which it may stop before the last labels).

Only the blocks that search itself looks at are read, and those on the way to the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..arrays import Csr, Float64, Int64, assemble
from ..explain import TYPICAL, Explanation, Path, Push, Step, log_score, strongest
from .blocks import MAX_BLOCK
from .packed import FAINT, PackedTree
from .search import score_tree


def explain(
    trees: Sequence[PackedTree],
    row: Csr,
    label: int,
    *,
    beam: int | None,
    search: str = "beam",
    label_counts: Int64 | None = None,
) -> Explanation:
    """Every path to `label`, each step with what the features of the row added to its margin."""
    with np.errstate(all="ignore"):  # a damaged model may hold anything
        return _explain(trees, row, label, beam, search, label_counts)


def _explain(
    trees: Sequence[PackedTree], row: Csr, label: int, beam: int | None, search: str, label_counts: Int64 | None
) -> Explanation:
    walks = [Walk.of(tree, row, beam) for tree in trees]
    paths: list[Path] = []
    for number, (tree, walk) in enumerate(zip(trees, walks, strict=True)):
        offsets, slots = tree.tree.label_slots
        copies = [
            _path(number, tree, walk, row, int(slot), label_counts)
            for slot in slots[offsets[label] : offsets[label + 1]]
        ]
        paths += sorted(copies, key=lambda path: (not path.reached, -path.steps[-1].path_log_score))
    found = np.logical_or.reduce([np.isfinite(walk.labels) for walk in walks])
    scores = np.mean([_filled(tree, walk, row, found) for tree, walk in zip(trees, walks, strict=True)], axis=0)
    return Explanation(
        label=label,
        n_labels=trees[0].tree.n_labels,
        n_trees=len(trees),
        beam=beam,
        search=search,
        score=float(scores[label]),
        rank=_rank(scores, label, found, trees[0]) if found[label] else None,
        n_found=int(found.sum()),
        paths=tuple(paths),
        merge=trees[0].merge,
        label_weight=float(np.exp(offset_of(trees[0], label))),
    )


def _filled(tree: PackedTree, walk: Walk, row: Csr, found: NDArray[np.bool_]) -> Float64:
    """Scores of all labels found in some tree: where this one's beam did not reach, as search scores them there."""
    scores = walk.scores
    asked = np.flatnonzero(found & ~np.isfinite(walk.labels)).astype(np.int32)
    if len(asked):
        wanted = assemble(np.zeros(len(asked), np.float32), asked, np.array([0, len(asked)]), (1, len(found)))
        scores[asked] = score_tree(tree, row, wanted, 1)
    return scores


# ── the sums ────────────────────────────────────────────────────────────────────────────────────────────────────────


def entries(tree: PackedTree, block: int, row: Csr) -> tuple[Int64, Int64, Float64]:
    """The weights of a block that meet features of `row`, as (place in the row, child in the block, weight)."""
    return tree.look_up(block, row.indices)


def margins(tree: PackedTree, node: int, row: Csr) -> Float64:
    """The margins of all children of a node."""
    begin, end = (int(slot) for slot in tree.tree.offsets[node : node + 2])
    out = tree.arrays["biases"][begin:end].astype(np.float64)
    values = row.data.astype(np.float64)
    for i, block in enumerate(range(int(tree.blocks[node]), int(tree.blocks[node + 1]))):
        places, children, weights = entries(tree, block, row)
        part = out[i * MAX_BLOCK : (i + 1) * MAX_BLOCK]
        part += np.bincount(children, values[places] * weights, minlength=MAX_BLOCK)[: len(part)]
    return out


def merged(tree: PackedTree, labels: NDArray[Any], logs: Float64) -> Float64:
    """The logarithm of each label's score from those of the places where it was found; -inf if there is none."""
    best = np.full(tree.tree.n_labels, -np.inf)
    np.maximum.at(best, labels, logs)
    if tree.merge != "mean" or not tree.tree.has_copies:
        return best
    matters = logs >= best[labels] + np.log(FAINT)
    labels, logs = labels[matters], logs[matters]
    total = np.bincount(labels, np.exp(logs - best[labels]), minlength=len(best))
    found = np.isfinite(best)
    best[found] += np.log(total[found] / np.bincount(labels, minlength=len(best))[found])
    return best


def offset_of(tree: PackedTree, label: int) -> float:
    """What the label's frequency adds to the logarithm of its score."""
    return float(tree.label_offsets[label]) if len(tree.label_offsets) else 0.0


# ── the beam ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Walk:
    """What beam search saw in one tree: all nodes of every level that it ranked, and the labels it found."""

    ranks: dict[int, tuple[int, int]]  # node: (its rank in its level, how many were ranked)
    kept: frozenset[int]  # nodes whose children were looked at
    labels: Float64  # logarithm of each label's score; -inf if not found

    @property
    def scores(self) -> Float64:
        """Of every label; 0 if not found."""
        return cast(Float64, np.exp(self.labels))

    @classmethod
    def of(cls, tree: PackedTree, row: Csr, beam: int | None) -> Walk:
        """Level by level, the best `beam` nodes stay; ties go to the smaller node."""
        places: list[tuple[NDArray[Any], Float64]] = []
        ranks: dict[int, tuple[int, int]] = {}
        kept = {0}
        level = [(0.0, 0)]
        while level:
            candidates: list[tuple[float, int]] = []
            for so_far, node in level:
                children = tree.tree.children[tree.tree.offsets[node] : tree.tree.offsets[node + 1]]
                total = so_far + log_score(tree.transform, margins(tree, node, row))
                is_label = children < 0
                places.append((~children[is_label], total[is_label]))
                candidates += zip((-total[~is_label]).tolist(), children[~is_label].tolist(), strict=True)
            candidates.sort()
            ranks |= {node: (i + 1, len(candidates)) for i, (_, node) in enumerate(candidates)}
            level = [(-cost, node) for cost, node in candidates[:beam]]
            kept |= {node for _, node in level}
        labels, totals = (np.concatenate(column) for column in zip(*places, strict=True))
        found = merged(tree, labels, totals)
        return cls(ranks, frozenset(kept), found + tree.label_offsets if len(tree.label_offsets) else found)


def _rank(scores: Float64, label: int, found: NDArray[np.bool_], tree: PackedTree) -> int:
    """1 for the best; ties are ordered as search orders them."""
    order = tree.label_ranks if len(tree.label_ranks) else np.arange(len(scores))
    better = (scores > scores[label]) | ((scores == scores[label]) & (order < order[label]))
    return 1 + int((better & found).sum())


# ── a path ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _path(number: int, tree: PackedTree, walk: Walk, row: Csr, slot: int, label_counts: Int64 | None) -> Path:
    """The way from the root to one place of a label."""
    shape, way = tree.tree, [slot]
    while (above := int(shape.node_slot[shape.owner[way[-1]]])) >= 0:
        way.append(above)
    label = ~int(shape.children[slot])
    steps: list[Step] = []
    so_far = 0.0
    for at in reversed(way):
        parent, child = int(shape.owner[at]), int(shape.children[at])
        number_in_node = at - int(shape.offsets[parent])
        # Of all children together, as the walk computes them: then equal scores are equal to the last bit.
        all_margins = margins(tree, parent, row)
        alone = float(log_score(tree.transform, all_margins)[number_in_node])
        so_far += alone
        looked = parent in walk.kept
        if child < 0:
            node, below, kept = None, np.array([label]), looked
            place = _place_of_label(walk.labels, label, so_far + offset_of(tree, label), tree)
        else:
            node, below, kept = child, shape.labels_below(child), child in walk.kept
            place = walk.ranks.get(child, (0, 0))
        rank, rivals = place if looked else (None, 0)
        steps.append(
            Step(
                node=node,
                labels=_typical(tree, below, label_counts),
                n_labels=len(below),
                bias=float(tree.arrays["biases"][at]),
                pushes=_pushes(tree, parent, number_in_node, row),
                margin=float(all_margins[number_in_node]),
                log_score=alone,
                path_log_score=so_far,
                kept=kept,
                rank=rank,
                rivals=rivals,
                group=None if node is None else shape.name_of(node),
            )
        )
    return Path(number, tuple(steps))


def _place_of_label(found: Float64, label: int, log_score: float, tree: PackedTree) -> tuple[int, int]:
    """(rank, how many are ranked) of a label that gets this score among the labels that search found."""
    scores = found.copy()
    scores[label] = log_score
    ranked = np.isfinite(scores)
    ranked[label] = True
    return _rank(scores, label, ranked, tree), int(ranked.sum())


def _pushes(tree: PackedTree, node: int, child: int, row: Csr) -> tuple[Push, ...]:
    """What each feature of the row adds to one child's margin, strongest first."""
    places, children, weights = entries(tree, int(tree.blocks[node]) + child // MAX_BLOCK, row)
    mine = children == child % MAX_BLOCK
    values = row.data[places[mine]].astype(np.float64)
    return strongest(row.indices[places[mine]], values, values * weights[mine])


def _typical(tree: PackedTree, labels: Int64, label_counts: Int64 | None) -> tuple[int, ...]:
    """The most frequent of some labels; if that is not known, those whose classifiers say yes most easily."""
    if label_counts is None:
        offsets, slots = tree.tree.label_slots
        weight: NDArray[Any] = tree.arrays["biases"][slots[offsets[labels]]]
    else:
        weight = label_counts[labels]
    return tuple(labels[np.lexsort((labels, -weight))[:TYPICAL]].tolist())
