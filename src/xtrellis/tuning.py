"""Choosing how much label frequencies count, by validation rows: in the tree, and in the scores.

In the tree (`choose_tradeoff`): frequent labels near the root make shorter searches; too much of it separates labels
that belong together. In the scores (`choose_prior`): labels with few rows are found more often if their scores count
for more; too much of it costs precision. Where the best lies depends on the data, so it is measured.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import is_list
from .core import InputError, clear_calls, integer, number, progress, require, shown
from .data import TrainingData, split_rows
from .linear import LinearTree
from .metrics import evaluate
from .model import Model

TRADEOFFS = (0.0, 0.25, 0.5, 1.0, 2.0, 6.0)
SINGLES = 300  # rows that are asked one by one
CLOSE = 0.1  # points of precision that do not count as a loss: the noise of a split
PRIORS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)


@dataclass(frozen=True)
class TradeoffTrial:
    """What one setting gave on the validation rows."""

    tradeoff: float
    precision: float  # P@k in percent
    depth: float  # expected depth@k
    microseconds: float  # mean of single queries
    chosen: bool = False


@clear_calls
def choose_tradeoff(
    model: Model,
    X: Any,
    Y: Any = None,
    *,
    max_microseconds: float | None = None,
    max_depth: float | None = None,
    k: int = 1,
    tradeoffs: Sequence[float] = TRADEOFFS,
    holdout: float = 0.1,
    max_rows: int = 50_000,
    seed: int = 0,
) -> list[TradeoffTrial]:
    """Try `index__tradeoff` of a model and say which to take; the model itself stays as it is.

    With a budget (mean microseconds of a query, or expected depth@k), the most precise that keeps it; if none does, the
    one that comes nearest. Without one, the fastest of those whose precision is within 0.1 points of the best.
    """
    _check(model, max_microseconds, max_depth, k, tradeoffs)
    integer(at_least=4)("max_rows", max_rows)
    data = TrainingData.of(X, Y)
    learned, measured = _split(data, holdout, max_rows, seed, "tradeoff")
    trials = []
    with progress.step("trying tradeoffs", total=len(tradeoffs), unit="trees") as advance:
        for tradeoff in tradeoffs:
            tried = model.clone().set_params(index__tradeoff=tradeoff)
            with progress.listen(None):
                tried.fit(learned)
                trials.append(_measure(tried, measured, float(tradeoff), k))
            advance(1)
    best = _pick(trials, max_microseconds, max_depth)
    return [TradeoffTrial(t.tradeoff, t.precision, t.depth, t.microseconds, chosen=t is best) for t in trials]


@dataclass(frozen=True)
class PriorTrial:
    """What one prior gave on the validation rows, in percent."""

    prior: float
    precision: float  # P@1
    ndcg: float  # nDCG@5
    propensity_scored: float  # PSP@1, in which a label counts the more the fewer rows it has
    chosen: bool = False


@clear_calls
def choose_prior(
    model: LinearTree,
    X: Any,
    Y: Any = None,
    *,
    max_loss: float = 0.5,
    priors: Sequence[float] = PRIORS,
    holdout: float = 0.1,
    max_rows: int = 50_000,
    seed: int = 0,
) -> list[PriorTrial]:
    """Try `prior` of a LinearTree and say which to take; the model itself stays as it is.

    It is the one with the best PSP@1 of those whose P@1 and nDCG@5 are at most `max_loss` points below those of the
    best. One training serves for all, since a trained tree takes any prior.
    """
    require(model, LinearTree, "model", "a LinearTree")
    number(at_least=0)("max_loss", max_loss)
    integer(at_least=4)("max_rows", max_rows)
    if not is_list(priors) or not hasattr(priors, "__len__") or not len(priors):
        raise InputError(f"priors must be a list of at least one number to try; got {shown(priors)}")
    tried = model.clone()
    for prior in priors:
        tried.set_params(prior=prior)
    data = TrainingData.of(X, Y)
    learned, measured = _split(data, holdout, max_rows, seed, "prior")
    tried.set_params(prior=0.0).fit(learned)
    found = []
    for prior in priors:
        top = tried.set_params(prior=prior).predict(measured.X, k=5)
        told = evaluate(measured.Y, top, ["P@1", "nDCG@5", "PSP@1"], train_labels=learned.Y)
        found.append((float(told["P@1"]), float(told["nDCG@5"]), float(told["PSP@1"])))
    best = [max(column) - max_loss for column in zip(*found, strict=True)]
    kept = [i for i, told in enumerate(found) if told[0] >= best[0] and told[1] >= best[1]]
    if not kept:  # one is best at the first answer, another at five: the least loss of both
        kept = [max(range(len(found)), key=lambda i: min(found[i][0] - best[0], found[i][1] - best[1]))]
    chosen = max(kept, key=lambda i: found[i][2])
    return [
        PriorTrial(float(p), *told, chosen=i == chosen) for i, (p, told) in enumerate(zip(priors, found, strict=True))
    ]


def _split(
    data: TrainingData, holdout: float, max_rows: int, seed: int, name: str
) -> tuple[TrainingData, TrainingData]:
    """Rows to train on and rows to measure on."""
    train, held = split_rows(data.n_rows, holdout=holdout, seed=seed)
    train, held = (
        rows[:: max(1, math.ceil(len(rows) / most))] for rows, most in ((train, max_rows), (held, max_rows // 4))
    )
    if not len(train) or not len(held):
        raise InputError(f"{data.n_rows} rows are too few to hold some out; give {name} a number")
    return data.select(train), data.select(held)


def _check(model: Model, max_microseconds: float | None, max_depth: float | None, k: int, tradeoffs: Any) -> None:
    require(model, Model, "model", "a model over an InterpolatedTree")
    if "index__tradeoff" not in model.get_params(deep=True):
        raise InputError(
            "tradeoff can be chosen for models over an InterpolatedTree; set index=InterpolatedTree() first"
        )
    for name, value in (("max_microseconds", max_microseconds), ("max_depth", max_depth)):
        if value is not None:
            number(above=0)(name, value)
    integer(at_least=1)("k", k)
    if not is_list(tradeoffs) or not hasattr(tradeoffs, "__len__"):
        raise InputError(f"tradeoffs must be a list of numbers to try; got {shown(tradeoffs)}")
    if not len(tradeoffs):
        raise InputError("tradeoffs must name at least one number to try")
    for tradeoff in tradeoffs:
        model.clone().set_params(index__tradeoff=tradeoff)  # all of them before the first takes its time


def _measure(model: Model, data: TrainingData, tradeoff: float, k: int) -> TradeoffTrial:
    depths = model.tree.label_depths  # type: ignore[attr-defined]
    found = evaluate(data.Y, model.predict(data.X, k=k), [f"P@{k}", f"depth@{k}"], depth=depths)
    chosen = np.linspace(0, data.n_rows - 1, min(SINGLES, data.n_rows)).astype(int)
    lone = [data.select([i]).X for i in chosen]
    times = np.full(len(lone), np.inf)
    for _ in range(3):
        for i, row in enumerate(lone):
            start = time.perf_counter_ns()
            model.predict(row, k=k)
            times[i] = min(times[i], (time.perf_counter_ns() - start) / 1e3)
    return TradeoffTrial(tradeoff, float(found[f"P@{k}"]), float(found[f"depth@{k}"]), float(times.mean()))


def _pick(trials: Sequence[TradeoffTrial], max_microseconds: float | None, max_depth: float | None) -> TradeoffTrial:
    """See `choose_tradeoff`."""

    def excess(trial: TradeoffTrial) -> float:
        over = [trial.microseconds / max_microseconds] if max_microseconds else []
        over += [trial.depth / max_depth] if max_depth else []
        return max(1.0, *over) if over else 1.0

    least = min(excess(trial) for trial in trials)
    within = [trial for trial in trials if excess(trial) <= least]
    if max_microseconds is not None or max_depth is not None:
        return max(within, key=lambda trial: (trial.precision, -trial.microseconds))
    best = max(trial.precision for trial in within)
    return min((t for t in within if t.precision >= best - CLOSE), key=lambda trial: trial.microseconds)
