"""Overlapping clusters for a linear tree: train the classifiers above the clusters, see where rows are led to,
place the labels anew, and again (Algorithm 1 of Liu et al. 2021). Labels' own classifiers wait for the last round.

Classifiers lead the rows that they were trained on where their labels are already: nearly all of them. Where new rows
will be led is seen by rows of another fold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from ..arrays import Csr, Float32, Int32, Int64, take_rows
from ..core import ParameterError, StoreError, generator, key, progress
from ..index import LabelTree, Matches, Overlap, OverlapRound, coverage, leaf_nodes, placing_of, replanted
from ..store import Checkpoint
from .routes import Beams
from .segments import Segment
from .train import Trainer

MakeTrainer = Callable[[LabelTree, str], Trainer]  # for a tree, with a name for its finished segments

FIELDS = tuple(OverlapRound.__dataclass_fields__)


def overlapped(
    tree: LabelTree,
    overlap: Overlap,
    make: MakeTrainer,
    *,
    seed: int,
    saved: Checkpoint | None,
    name: str,
) -> tuple[LabelTree, list[OverlapRound], list[Segment]]:
    """The tree with labels in their places, what each round did, and the classifiers above them if they stay."""
    stored = _stored(saved, name, tree.n_labels)
    if stored is not None and overlap.update:
        return *stored, []
    rounds: list[OverlapRound] = []
    matcher: list[Segment] = []
    for number in range(overlap.rounds):
        trainer = make(tree, f"round{number}.")
        Y, threads = trainer.Y, trainer.threads
        folds = min(overlap.folds, int(Y.shape[0]))
        if folds == 1 or not overlap.update:
            matcher = trainer.train_matcher()
        if folds == 1:
            matches = match(trainer, matcher, trainer.X, overlap.beam)
        else:
            matches = match_out_of_fold(trainer, make, number, folds, overlap.beam, key(seed, "folds", number))
        now = placing_of(tree)
        before = coverage(Y, matches, now)
        placing, gap = overlap.place(Y, matches, now, seed=key(seed, "overlap", number), threads=threads)
        after = coverage(Y, matches, placing)
        if number and after <= before:
            progress.note(f"overlap: round {number + 1} would gain nothing; it ends here")
            break
        sizes = placing.sizes[placing.sizes > 0]
        told = OverlapRound(
            before, after, len(sizes), int(sizes.max()), float(sizes.mean()), len(placing.clusters) / tree.n_labels, gap
        )
        rounds.append(told)
        progress.note(f"overlap, round {number + 1}: {told}")
        tree = replanted(tree, placing, keep_all=not overlap.update)
        if not overlap.update:
            break  # the same classifiers would lead rows to the same clusters
    if saved is not None and stored is None:
        history = np.array([[float(asdict(r)[f]) for f in FIELDS] for r in rounds]).reshape(len(rounds), len(FIELDS))
        saved.put(f"{name}overlap", {"offsets": tree.offsets, "children": tree.children, "history": history})
    return tree, rounds, [] if overlap.update else matcher


def match(trainer: Trainer, matcher: list[Segment], X: Csr, beam: int) -> Matches:
    """Which clusters the beam of each row of X holds, on whatever level they lie."""
    tree, n_rows = trainer.tree, int(X.shape[0])
    leaves = leaf_nodes(tree)
    number = np.full(tree.n_nodes, -1, np.int32)
    number[leaves] = np.arange(len(leaves), dtype=np.int32)
    held = Beams.at_root(n_rows)
    parts = [held]
    by_first = {segment.first: segment for segment in matcher}
    for level in range(len(trainer.levels) - 1):
        segments = [by_first[first] for first, _ in trainer.levels[level]]
        held = held.descend(
            X, tree, segments,
            transform=trainer.negatives.transform, storage=trainer.storage, beam=beam, threads=trainer.threads,
        )  # fmt: skip
        parts.append(held)
    rows = np.concatenate([np.repeat(np.arange(n_rows), np.diff(p.offsets)) for p in parts])
    clusters = number[np.concatenate([p.nodes for p in parts])]
    weights = np.exp(np.concatenate([p.scores for p in parts]))
    kept = np.flatnonzero(clusters >= 0)
    return _by_row(rows[kept], clusters[kept], weights[kept].astype(np.float32), n_rows, len(leaves))


def match_out_of_fold(trainer: Trainer, make: MakeTrainer, number: int, folds: int, beam: int, seed: int) -> Matches:
    """The same for all training rows, each led by classifiers that have not seen it."""
    n_rows = int(trainer.X.shape[0])
    fold = generator(seed, "folds").permutation(n_rows) % folds
    found: list[tuple[Int64, Int32, Float32]] = []
    for i in range(folds):
        others = np.flatnonzero(fold != i)
        matcher = make(trainer.tree, f"round{number}.fold{i}.").on_rows(others).train_matcher()
        rows = np.flatnonzero(fold == i)
        led = match(trainer, matcher, take_rows(trainer.X, rows), beam)
        found.append((np.repeat(rows, np.diff(led.offsets)), led.clusters, led.weights))
    rows, clusters, weights = (np.concatenate(column) for column in zip(*found, strict=True))
    return _by_row(rows, clusters, weights, n_rows, led.n_clusters)


def _by_row(rows: Int64, clusters: Int32, weights: Float32, n_rows: int, n_clusters: int) -> Matches:
    order = np.argsort(rows, kind="stable")
    offsets = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=offsets[1:])
    return Matches(offsets, clusters[order], weights[order], n_clusters)


def _stored(saved: Checkpoint | None, name: str, n_labels: int) -> tuple[LabelTree, list[OverlapRound]] | None:
    found = saved.get(f"{name}overlap") if saved else None
    if found is None:
        return None
    if set(found) != {"offsets", "children", "history"} or found["history"].shape[1:] != (len(FIELDS),):
        raise StoreError("the checkpoint of overlapping clusters is incomplete; delete it to start anew")
    tree = LabelTree(found["offsets"].copy(), found["children"].copy(), n_labels)
    return tree, [read_round(dict(zip(FIELDS, row, strict=True))) for row in found["history"].tolist()]


def read_round(fields: Any) -> OverlapRound:
    """A round from plain JSON."""
    if not isinstance(fields, dict) or set(fields) != set(FIELDS):
        raise StoreError(f"a round of overlapping needs the fields {', '.join(FIELDS)}")
    if not all(isinstance(value, (int, float)) for value in fields.values()):
        raise StoreError("a round of overlapping must hold numbers")
    whole: dict[str, Any] = {name: int(fields[name]) for name in ("clusters", "largest")}
    return OverlapRound(**{**{name: float(value) for name, value in fields.items()}, **whole})


def require_even(tree: LabelTree) -> None:
    """Classifiers can stay only if new labels do not sit among them."""
    depths = tree.node_depths[leaf_nodes(tree)]
    if len(np.unique(depths)) > 1:
        raise ParameterError(
            "overlap with update=False needs a tree whose clusters all lie at one depth (BalancedTree); use update=True"
        )
