"""How precise a tree is after every round of overlapping, on rows that were held out.

A tree that has been through r rounds is trained for each r, from none to all, on the other rows: the price of an honest
answer, since labels' own classifiers are otherwise trained for the last round only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import progress
from ..data import split_rows
from ..errors import InputError, StoreError
from ..metrics import evaluate
from ..types import Csr

if TYPE_CHECKING:
    from .model import LinearTree

METRICS = ("P@1", "P@3", "P@5")
Trial = dict[str, float]  # the number of rounds, and percentages


def trials(model: LinearTree, X: Csr, Y: Csr, label_features: Csr | None) -> tuple[Trial, ...]:
    """What each round gains (for the first of several trees); nothing if the model holds no rows out for it."""
    overlap = model.overlap
    if overlap is None or overlap.held_out == 0:
        return ()
    kept, held = split_rows(int(X.shape[0]), holdout=overlap.held_out, seed=model.seed)
    if not len(kept) or not len(held):
        raise InputError(
            f"overlap.held_out={overlap.held_out} leaves {len(kept)} rows to train on and {len(held)} to measure with; "
            f"both need some: change it, or give more rows"
        )
    out: list[Trial] = []
    for rounds in range(overlap.rounds + 1):
        fewer = overlap.clone().set_params(rounds=max(1, rounds), held_out=0.0)
        trial = model.clone().set_params(n_trees=1, overlap=fewer if rounds else None)
        trial.fit(X[kept], Y[kept], label_features=label_features)
        if rounds and len(trial.overlap_rounds[0]) < rounds:
            break  # it stopped earlier: the same tree as before
        top = trial.predict(X[held], k=5)
        found = {name: round(float(value), 3) for name, value in evaluate(Y[held], top, list(METRICS)).items()}
        told = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
        progress.note(f"overlap, {len(held):,} held-out rows after {rounds} rounds: {told}")
        out.append({"rounds": float(rounds), **found})
    return tuple(out)


def read_trials(fields: Any) -> tuple[Trial, ...]:
    """From plain JSON."""
    names = {"rounds", *METRICS}
    if not isinstance(fields, list) or not all(isinstance(trial, dict) and set(trial) == names for trial in fields):
        raise StoreError(f"overlap_trials must be a list of objects with {', '.join(sorted(names))}")
    if not all(isinstance(value, (int, float)) for trial in fields for value in trial.values()):
        raise StoreError("overlap_trials must hold numbers")
    return tuple({name: float(value) for name, value in trial.items()} for trial in fields)
