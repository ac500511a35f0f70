"""`fit` from end to end: the plan, the trees, their classifiers; with a checkpoint, all but what is already done."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from .. import progress
from ..checks import n_bytes
from ..errors import StoreError
from ..index import LabelTree
from ..index.overlap import Round
from ..labels import LabelSpace
from ..rng import key
from ..types import Csr
from .checkpoint import Checkpoint, discard, fingerprint
from .effort import Effort
from .memory import give_back
from .overlapping import overlapped, require_even
from .packed import PackedTree
from .plan import Plan, plan
from .segments import IN_MEMORY, Segment
from .shelf import NO_SHELF, DiskShelf
from .training import Trainer

if TYPE_CHECKING:
    from .model import LinearTree

FREE = ("beam", "memory_limit", "search", "slack", "threads")  # parameters that may change between a kill and going on


def fit_trees(
    model: LinearTree, X: Csr, Y: Csr, label_features: Csr | None, checkpoint: str | os.PathLike[str] | None
) -> tuple[tuple[PackedTree, ...], tuple[tuple[Round, ...], ...]]:
    """The trained trees of a model, and the rounds of overlapping of each; the model itself is not touched."""
    how = Plan()
    if model.memory_limit is not None:
        how = plan(model.estimate(X, Y, label_features=label_features), n_bytes(model.memory_limit))
        progress.note(f"memory_limit: {how}")
    with ExitStack() as open_things:
        saved = None
        if checkpoint is not None:
            params = {name: value for name, value in model.to_config()["params"].items() if name not in FREE}
            made_from = fingerprint(params, {"X": X, "Y": Y, "label features": label_features})
            saved = open_things.enter_context(Checkpoint(checkpoint, made_from))
        disk = open_things.enter_context(DiskShelf()) if how.spill else None
        seeds = [key(model.seed, "tree", i) if i else model.seed for i in range(model.n_trees)]
        # All trees first: their label vectors are large and must be gone before classifiers take their place.
        trees = _build(model, X, Y, label_features, seeds, saved)
        give_back()
        packed, history, effort = [], [], Effort()
        for i, (tree, seed) in enumerate(zip(trees, seeds, strict=True)):

            def make(tree: LabelTree, stage: str, i: int = i, seed: int = seed) -> Trainer:
                shelf = saved.shelf(f"tree{i}.{stage}", mapped=how.spill) if saved else disk or NO_SHELF
                return Trainer(
                    X, Y, tree, model.solver(), model.negative_rows(),
                    storage=model.storage, seed=seed, threads=model.threads, room=how.room, shelf=shelf, effort=effort,
                )  # fmt: skip

            rounds: list[Round] = []
            matcher: list[Segment] = []
            if model.overlap is not None:
                if not model.overlap.update:
                    require_even(tree)
                tree, rounds, matcher = overlapped(
                    X, Y, tree, model.overlap, make, seed=seed, saved=saved, name=f"tree{i}."
                )
                give_back()
            history.append(tuple(rounds))
            packed.append(PackedTree.join(
                tree, make(tree, "").train(matcher), int(X.shape[1]),
                transform=model.transform, storage=model.storage, room=disk or IN_MEMORY,
                merge="max" if model.overlap is None else model.overlap.merge,
            ))  # fmt: skip
    effort.tell(max_epochs=model.max_epochs, tolerance=model.tolerance)
    if checkpoint is not None:
        discard(checkpoint)
    return tuple(packed), tuple(history)


def _build(
    model: LinearTree, X: Csr, Y: Csr, label_features: Csr | None, seeds: list[int], saved: Checkpoint | None
) -> list[LabelTree]:
    labels = LabelSpace(X, Y, features=label_features, normalize_rows=model.normalize_label_rows, threads=model.threads)
    trees = []
    for i, seed in enumerate(seeds):
        stored = saved.get(f"tree{i}") if saved else None
        if stored is None:
            tree = model.index.build(labels, seed=seed)
            if saved:
                saved.put(f"tree{i}", {"offsets": tree.offsets, "children": tree.children})
        elif set(stored) != {"offsets", "children"}:
            raise StoreError(f"the checkpoint of tree {i} must hold offsets and children; delete it to start anew")
        else:
            tree = LabelTree(stored["offsets"].copy(), stored["children"].copy(), int(Y.shape[1]))
        progress.note(f"label tree: {', '.join(f'{name} {value}' for name, value in tree.describe().items())}")
        trees.append(tree)
    return trees
