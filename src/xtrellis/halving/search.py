"""`tune`: successive halving on rows (Jamieson, Talwalkar 2016), with candidates proposed by Optuna.

Candidates come in groups of nine. Each is trained on a ninth of the rows; the best third of them again on a third, and
the best one on all. A candidate's score is that of held-out rows, which no training sees. What a group has shown guides
the proposals for the next. Groups wait for each other, so the outcome does not depend on how many run at once.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import (
    Engine,
    InputError,
    MissingExtraError,
    as_path,
    clear_calls,
    generator,
    integer,
    number,
    progress,
    require,
    text,
)
from ..data import Dataset, StoredDataset, split_rows
from ..metrics import evaluate
from ..model import Model
from ..tagger import Tagger
from .plot import draw
from .ranges import drawn, ranges_of

GROUP, KEPT = 9, 3  # candidates; and of three, one goes on
SHARES = (9, 3, 1)  # of the rows: one in so many


@dataclass(frozen=True)
class Trial:
    """A candidate: its parameters, its score when it was trained on the most rows, and how many these were."""

    number: int
    params: dict[str, Any]
    score: float
    rows: int


@dataclass(frozen=True)
class Tuned:
    """All candidates, the best first; `params` are those of the best that was trained on all rows."""

    trials: tuple[Trial, ...]
    metric: str

    @property
    def best(self) -> Trial:
        """The best of those that came through."""
        return self.trials[0]

    @property
    def params(self) -> dict[str, Any]:
        """For `set_params`."""
        return dict(self.best.params)

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=None)
        for column in ("", self.metric, "rows", "parameters"):
            table.add_column(column, justify="left" if column == "parameters" else "right")
        for t in self.trials:
            told = " ".join(f"{name.replace('__', '.')}={value}" for name, value in t.params.items())
            table.add_row(str(t.number), f"{t.score:.2f}", f"{t.rows:,}", told)
        return table

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the scores by the value of each parameter; the ending of the name says the format."""
        draw(self.trials, self.metric, as_path(path))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "metric": self.metric,
            "trials": [
                {"number": t.number, "score": t.score, "rows": t.rows, "params": dict(t.params)} for t in self.trials
            ],
        }


@clear_calls
def tune(
    tagger: Tagger | Model,
    dataset: Dataset,
    *,
    trials: int = 30,
    metric: str = "nDCG@5",
    holdout: float = 0.1,
    seed: int = 0,
    engine: Engine | None = None,
    fixed: Collection[str] = (),
) -> Tuned:
    """Try `trials` sets of parameters of a model on a `Dataset`; the same seed gives the same answer on any engine.

    Parameters that are `fixed`, by the names that `set_params` takes, stay as they are.
    """
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    integer(at_least=1)("trials", trials)
    number(above=0, at_most=0.9)("holdout", holdout)
    text()("metric", metric)
    if not isinstance(tagger, (Tagger, Model)):
        raise InputError(f"tune takes an untrained model or tagger; got {type(tagger).__name__}")
    optuna = _load_optuna()
    model = tagger.model if isinstance(tagger, Tagger) else tagger
    ranges = ranges_of(model, fixed)
    known, held = split_rows(dataset.n_rows, holdout=holdout, seed=seed)
    if len(known) < GROUP or not len(held):
        raise InputError(f"{dataset.n_rows} rows are too few to hold some out and halve the rest")
    order = generator(seed, "tune").permutation(known)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed % 2**32))
    found: list[Trial] = []
    with engine or nullcontext(), progress.step("tuning", total=trials, unit="candidates") as advance:
        for first in range(0, trials, GROUP):
            asked = [study.ask() for _ in range(min(GROUP, trials - first))]
            group = {first + i: drawn(trial, ranges) for i, trial in enumerate(asked)}
            told = _halved(tagger, dataset, order, held, group, metric, engine)
            for i, trial in enumerate(asked):
                study.tell(trial, told[first + i].score)
            found += told.values()
            advance(len(asked))
    return Tuned(tuple(sorted(found, key=lambda t: (-t.rows, -t.score, t.number))), metric)


def _halved(
    tagger: Any, dataset: Dataset, order: Any, held: Any, group: dict[int, Any], metric: str, engine: Engine | None
) -> dict[int, Trial]:
    told: dict[int, Trial] = {}
    left = list(group)
    for share in SHARES:
        rows = np.sort(order[: max(1, len(order) // share)])
        scores: dict[int, float] = {}
        train, test = _Rows.of(dataset, rows), _Rows.of(dataset, held)
        if engine is None:
            for name in left:
                scores[name] = score_of(tagger, train, test, group[name], metric)
        else:
            known, unseen = engine.share(train), engine.share(test)
            one = {"threads": 1} if engine.far else {}  # a task has one processor
            given = [(name, (tagger, known, unseen, group[name] | one, metric)) for name in left]
            engine.run(score_of, given, scores.__setitem__)
        for name, score in scores.items():
            told[name] = Trial(name, group[name], score, len(rows))
        left = sorted(scores, key=lambda name: (-scores[name], name))[: max(1, len(left) // KEPT)]
    return told


class _Rows:
    """Rows of a data set: the numbers of those of a data folder, or the rows themselves."""

    def __init__(self, path: str | None, rows: Any, dataset: Dataset | None) -> None:
        self._path, self._rows, self._dataset = path, rows, dataset

    @classmethod
    def of(cls, dataset: Dataset, rows: Any) -> _Rows:
        if isinstance(dataset, StoredDataset) and dataset.path is not None and dataset.rows is not None:
            return cls(str(dataset.path), rows + dataset.rows[0], None)
        return cls(None, None, dataset.select(rows))

    def get(self) -> Dataset:
        if self._dataset is not None:
            return self._dataset
        from ..data import open

        return open(str(self._path)).select(self._rows)


def score_of(tagger: Any, train: _Rows, test: _Rows, params: dict[str, Any], metric: str) -> float:
    """A task: train on some rows, measure on others."""
    known, unseen = train.get(), test.get()
    made = tagger.clone()
    (made.model if isinstance(made, Tagger) else made).set_params(**params)
    if isinstance(made, Tagger):
        made.fit(known)
        return float(made.evaluate(unseen, metrics=[metric])[metric])
    made.fit(known.X, known.Y)
    k = max(int(part) for part in metric.split("@")[1:]) if "@" in metric else 10
    return float(evaluate(unseen.Y, made.predict(unseen.X, k=k), metrics=[metric], train_labels=known.Y)[metric])


def _load_optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("Optuna", "tune", "tune") from None
    return optuna
