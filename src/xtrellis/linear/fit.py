"""`fit` from end to end: the plan, the trees, their classifiers; with a checkpoint, all but what is already done."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import StoreError, key, n_bytes, progress, thread_count
from ..data import TrainingData
from ..index import LabelTree, OverlapRound, build_tree
from ..labels import LabelSpace, Narrow, narrowed
from ..store import IN_MEMORY, Checkpoint, DiskScratch, Resident, let_go, resident
from .convergence import Convergence
from .memory import Overflow, Plan, give_back, keep_little, plan, spilling
from .overlap import overlapped, require_even
from .packed import PackedTree, ranks_by_frequency
from .segments import Segment
from .train import Trainer

if TYPE_CHECKING:
    from .model import LinearTree


KEPT = 0.85  # of the limit: pages of files are let go from there on, since more come before they are looked at again


def fit_trees(
    model: LinearTree, data: TrainingData, checkpoint: Path | None
) -> tuple[tuple[PackedTree, ...], tuple[tuple[OverlapRound, ...], ...]]:
    """The trained trees of a model, and the rounds of overlapping of each; the model itself is not touched."""
    how, limited = Plan(), model.memory_limit is not None
    with ExitStack() as open_things:
        if limited:
            how = _plan(model, data, open_things)
        saved = None
        if checkpoint is not None:
            saved = open_things.enter_context(Checkpoint(checkpoint, model.made_from(data)))
        disk = Overflow(open_things.enter_context(DiskScratch()), how.weights) if limited else IN_MEMORY
        narrow = narrowed(data.X)
        seeds = [key(model.seed, "tree", i) if i else model.seed for i in range(model.n_trees)]
        # All trees first: their label vectors are large and must be gone before classifiers take their place.
        trees = _build(model, data, narrow, seeds, saved, how)
        give_back()
        packed: list[PackedTree] = []
        history, convergence = [], Convergence()
        for i, (tree, seed) in enumerate(zip(trees, seeds, strict=True)):

            def make(tree: LabelTree, stage: str, i: int = i, seed: int = seed) -> Trainer:
                if isinstance(disk, Overflow):
                    disk.begin(sum(done.n_bytes for done in packed))
                return Trainer(
                    data.X, data.Y, tree, model.solver(), model.negative_rows(),
                    storage=model.storage, seed=seed, threads=model.threads, room=how.room,
                    outside=how.outside, read_files=limited, narrow=narrow,
                    scratch=saved.scratch(f"tree{i}.{stage}", mapped=limited) if saved else disk,
                    convergence=convergence, row_weights=data.sample_weight,
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


def _plan(model: LinearTree, data: TrainingData, open_things: ExitStack) -> Plan:
    """How to keep the limit; from now on pages of files are let go before they go beyond it."""
    keep_little()
    limit = n_bytes(model.memory_limit or 0)
    open_things.enter_context(Resident(KEPT * limit))
    taken = 0
    if data.on_disk:  # then what the process itself takes counts: with data in memory it is little beside it
        let_go()
        give_back()
        taken = max(0, resident() - data.n_bytes)
    how = plan(model._estimate(data), limit, taken, threads=thread_count(model.threads))
    progress.note(f"memory_limit: {how}")
    give_back()
    if how.outside.rows:
        open_things.enter_context(spilling(how.outside))
    return how


def _build(
    model: LinearTree, data: TrainingData, narrow: Narrow, seeds: list[int], saved: Checkpoint | None, how: Plan
) -> list[LabelTree]:
    labels = LabelSpace(
        data, normalize_rows=model.normalize_label_rows, threads=model.threads, narrow=narrow,
        on_disk=how.outside.rows > 0, read_files=model.memory_limit is not None,
    )  # fmt: skip
    trees = []
    missing = saved is None or any(saved.get(f"tree{i}") is None for i in range(len(seeds)))
    if model.memory_limit is not None and model.index.needs_vectors and missing:
        _ = labels.vectors
        give_back()  # what was needed to make them is as large as they are
    for i, seed in enumerate(seeds):
        stored = saved.get(f"tree{i}") if saved else None
        if stored is None:
            tree = build_tree(model.index, labels, seed=seed)
            if saved:
                saved.put(f"tree{i}", {"offsets": tree.offsets, "children": tree.children})
        elif set(stored) != {"offsets", "children"}:
            raise StoreError(f"the checkpoint of tree {i} must hold offsets and children; delete it to start anew")
        else:
            tree = LabelTree(stored["offsets"].copy(), stored["children"].copy(), data.n_labels)
        progress.note(f"label tree: {', '.join(f'{name} {value}' for name, value in tree.describe().items())}")
        trees.append(tree)
    return trees
