"""How precise a tree is after every round of overlapping, on rows that were held out.

A tree that has been through r rounds is trained for each r, from none to all, on the other rows: the price of an honest
answer, since labels' own classifiers are otherwise trained for the last round only.
"""

from __future__ import annotations

from typing import Any

from ..core import InputError, progress
from ..data import TrainingData, split_rows
from ..linear import LinearTree
from ..metrics import evaluate

METRICS = ("P@1", "P@3", "P@5")


def overlap_rounds(model: LinearTree, X: Any, Y: Any = None, *, holdout: float = 0.1) -> list[dict[str, float]]:
    """P@1, P@3 and P@5 on held-out rows after 0, 1, … rounds of the model's overlap (of one tree)."""
    data, overlap = TrainingData.of(X, Y), model.overlap
    if overlap is None:
        raise InputError("overlap_rounds needs a LinearTree with an overlap")
    kept, held = split_rows(data.n_rows, holdout=holdout, seed=model.seed)
    if not len(kept) or not len(held):
        raise InputError(
            f"holdout={holdout} leaves {len(kept)} rows to train on and {len(held)} to measure with; both need some: "
            f"change it, or give more rows"
        )
    learned, measured = data.select(kept), data.select(held)
    out: list[dict[str, float]] = []
    for rounds in range(overlap.rounds + 1):
        fewer = overlap.clone().set_params(rounds=max(1, rounds))
        trial = model.clone().set_params(n_trees=1, overlap=fewer if rounds else None).fit(learned)
        if rounds and len(trial.overlap_rounds[0]) < rounds:
            break  # it stopped earlier: the same tree as before
        found = evaluate(measured.Y, trial.predict(measured.X, k=5), list(METRICS))
        out.append({"rounds": float(rounds), **{name: round(float(value), 3) for name, value in found.items()}})
        progress.note(f"overlap, {len(held):,} held-out rows after {rounds} rounds: {out[-1]}")
    return out
