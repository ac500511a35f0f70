"""`fit` from end to end: the plan, the trees, their classifiers; with a checkpoint, all but what is already done."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import StoreError, key, n_bytes, progress
from ..data import TrainingData
from ..index import LabelTree, OverlapRound
from ..labels import LabelSpace
from ..store import IN_MEMORY, Checkpoint, DiskScratch
from .convergence import Convergence
from .memory import Plan, give_back, plan
from .overlap import overlapped, require_even
from .packed import PackedTree, ranks_by_frequency
from .segments import Segment
from .train import Trainer

if TYPE_CHECKING:
    from .model import LinearTree


def fit_trees(
    model: LinearTree, data: TrainingData, checkpoint: Path | None
) -> tuple[tuple[PackedTree, ...], tuple[tuple[OverlapRound, ...], ...]]:
    """The trained trees of a model, and the rounds of overlapping of each; the model itself is not touched."""
    how = Plan()
    if model.memory_limit is not None:
        how = plan(model._estimate(data), n_bytes(model.memory_limit))
        progress.note(f"memory_limit: {how}")
    with ExitStack() as open_things:
        saved = None
        if checkpoint is not None:
            saved = open_things.enter_context(Checkpoint(checkpoint, model.made_from(data)))
        disk = open_things.enter_context(DiskScratch()) if how.spill else IN_MEMORY
        seeds = [key(model.seed, "tree", i) if i else model.seed for i in range(model.n_trees)]
        # All trees first: their label vectors are large and must be gone before classifiers take their place.
        trees = _build(model, data, seeds, saved)
        give_back()
        packed, history, convergence = [], [], Convergence()
        for i, (tree, seed) in enumerate(zip(trees, seeds, strict=True)):

            def make(tree: LabelTree, stage: str, i: int = i, seed: int = seed) -> Trainer:
                return Trainer(
                    data.X, data.Y, tree, model.solver(), model.negative_rows(),
                    storage=model.storage, seed=seed, threads=model.threads, room=how.room,
                    scratch=saved.scratch(f"tree{i}.{stage}", mapped=how.spill) if saved else disk,
                    convergence=convergence,
                )  # fmt: skip

            rounds: list[OverlapRound] = []
            matcher: list[Segment] = []
            if model.overlap is not None:
                if not model.overlap.update:
                    require_even(tree)
                tree, rounds, matcher = overlapped(tree, model.overlap, make, seed=seed, saved=saved, name=f"tree{i}.")
                give_back()
            history.append(tuple(rounds))
            packed.append(PackedTree.join(
                tree, make(tree, "").train(matcher), data.n_features,
                transform=model.transform, storage=model.storage, scratch=disk,
                merge="max" if model.overlap is None else model.overlap.merge,
                label_ranks=ranks_by_frequency(data.label_counts),
            ))  # fmt: skip
    convergence.report(max_epochs=model.max_epochs, tolerance=model.tolerance)
    return tuple(packed), tuple(history)


def _build(model: LinearTree, data: TrainingData, seeds: list[int], saved: Checkpoint | None) -> list[LabelTree]:
    labels = LabelSpace(data, normalize_rows=model.normalize_label_rows, threads=model.threads)
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
            tree = LabelTree(stored["offsets"].copy(), stored["children"].copy(), data.n_labels)
        progress.note(f"label tree: {', '.join(f'{name} {value}' for name, value in tree.describe().items())}")
        trees.append(tree)
    return trees
