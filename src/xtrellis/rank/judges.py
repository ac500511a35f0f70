"""Which rows a calibration learns from: rows that are new to base and ranker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_features, as_labels, assemble, for_scipy
from ..errors import InputError
from ..linear.stages import Stages
from ..model import Model
from ..rng import generator
from ..types import Csr, Int64
from .members import check_texts, rows_of

if TYPE_CHECKING:
    from .reranked import Reranked

FEWEST = 50  # rows that a base has left out; with fewer, others are drawn


@dataclass(frozen=True)
class Given:
    """What `fit` was given beside X and Y."""

    texts: Any
    fitted_base: Model | None
    held_out: tuple[Csr, Csr, dict[str, Any]] | None
    label_features: Csr | None
    stages: Stages


@dataclass(frozen=True)
class Judges:
    """Rows that calibrate, and those that base and ranker may learn from."""

    X: Csr
    Y: Csr
    told: dict[str, Any]
    base_rows: Int64
    ranker_rows: Int64
    trial: bool  # both are worth training again, on all rows


def held_out_rows(model: Reranked, held_out: Any, X: Csr, Y: Csr) -> tuple[Csr, Csr, dict[str, Any]] | None:
    """What `fit` was given to calibrate with, checked: features, labels and texts."""
    if held_out is None:
        return None
    if not isinstance(held_out, (tuple, list)) or len(held_out) not in (2, 3):
        raise InputError("held_out must be (X, Y) or (X, Y, texts)")
    Xh = as_features(held_out[0], n_features=int(X.shape[1]), name="held_out X")
    n = int(Xh.shape[0])
    Yh = as_labels(held_out[1], n_rows=n, n_labels=int(Y.shape[1]))
    texts = held_out[2] if len(held_out) == 3 else None
    check_texts(texts, n)
    if texts is None and model.base.reads_texts:
        raise InputError("the base reads texts, so held_out must be (X, Y, texts)")
    return Xh, Yh, rows_of(texts, np.arange(n))


def judges_of(model: Reranked, X: Csr, Y: Csr, given: Given) -> Judges | None:
    """Rows that were given, or that the base leaves out of its own training, or drawn; None if there are too few.

    With rows of the base's own nothing is trained twice, and probabilities are of the very model whose scores they go
    by: a neural base that is trained again may score on another scale. (A fitted base may have been trained on other
    rows than these; then those are as good as any.)
    """
    every = np.arange(int(X.shape[0]))
    if given.held_out is not None:
        return Judges(*given.held_out, every, every, trial=False)
    left_out = (given.fitted_base or model.new_base()).unseen_rows(Y)
    own = len(left_out) >= FEWEST
    rows = left_out.astype(np.int64) if own else _drawn(len(every), model.calibration_rows, model.seed)
    if not len(rows):
        return None
    known = np.setdiff1d(every, rows)
    told = rows_of(given.texts, rows)
    return Judges(*some(X, Y, rows), told, every if own else known, known, trial=not own)


def _drawn(n: int, most: int, seed: int) -> Int64:
    order = generator(seed, "calibration").permutation(n)
    return np.sort(order[: min(most, n // 10)])


def some(X: Csr, Y: Csr, rows: Int64) -> tuple[Csr, Csr]:
    """Some rows of both, in the form kernels want."""
    return (X, Y) if len(rows) == X.shape[0] else (_take(X, rows), _take(Y, rows))


def _take(matrix: Csr, rows: Int64) -> Csr:
    part = for_scipy(matrix)[rows]
    return assemble(part.data, part.indices.astype(np.int32, copy=False), part.indptr.astype(np.int64), part.shape)
