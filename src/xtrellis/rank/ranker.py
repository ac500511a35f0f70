"""`Ranker`: a linear classifier a label that learns to tell a row's labels from its other candidates (ELIAS++, D.2).

A label's problem holds the rows that have it and the rows it is a candidate of: hard negatives only, O(100 · rows) in
all. Candidates that a row has are positives; a row's labels that the candidates lack are added, so that no label is
trained on less than its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse as sp

from .._native import linear as native
from ..arrays import Csr, Float32, Int32, Int64, TopK, UInt8, assemble, join_parts, spans_of_work
from ..core import Configured, choice, integer, key, number, param, progress, run, thread_count
from ..labels import narrowed
from ..linear import LOSSES
from .classifiers import TRANSFORMS, Classifiers


class Ranker(Configured):
    """How the classifiers that look at candidates are trained."""

    loss: str = param(choice(*LOSSES), "what a classifier minimises, with L2 regularisation", default="squared-hinge")
    cost: float = param(number(above=0), "weight of the loss against the regulariser (C)", default=0.5)
    positive_weight: float = param(
        number(above=0), "how much more a positive row counts than a negative one", default=1.0
    )
    tolerance: float = param(
        number(above=0), "a classifier is solved when its gradients agree within this", default=0.1
    )
    max_epochs: int = param(integer(at_least=1), "passes over a label's rows at most", default=100)
    bias: float = param(number(at_least=0), "value of the constant feature; 0 for none", default=1.0)
    prune: float = param(number(at_least=0), "smaller absolute weights are dropped", default=0.1)
    max_weights: int | None = param(
        integer(at_least=1, or_none=True), "weights a classifier keeps at most", default=None
    )
    transform: str = param(choice(*TRANSFORMS), "how a margin becomes a score", default="l3-hinge")

    def train(self, X: Csr, Y: Csr, candidates: TopK, *, seed: int = 0, threads: int | None = None) -> Classifiers:
        """Classifiers of all labels, from the candidates of each row of X."""
        offsets, rows, positive = pairs_by_label(Y, candidates)
        workers = thread_count(threads)
        # A label's work grows with the features of its rows; tasks of much the same size, many a thread.
        lengths = np.concatenate([[0], np.cumsum(np.diff(X.indptr)[rows] + 8)])[offsets]
        n_labels, tasks = int(Y.shape[1]), spans_of_work(lengths, 32 * workers)
        narrow = narrowed(X)  # the kernel keeps an array as long as the feature space
        used = narrow.X

        def part(span: tuple[int, int]) -> tuple[Int64, Int32, Float32, Float32]:
            return native.train_each(
                used.indptr, used.indices, used.data, used.shape[1], offsets, rows, positive,
                first=span[0], last=span[1], bias=self.bias, loss=LOSSES[self.loss],
                cost_positive=self.cost * self.positive_weight, cost_negative=self.cost,
                tolerance=self.tolerance, epochs=self.max_epochs,
                threshold=self.prune, max_weights=self.max_weights or 0, key=key(seed, "ranker"),
            )  # fmt: skip

        with progress.step("training the ranker", total=n_labels, unit="classifiers") as advance:
            parts = run(
                part, tasks, threads=workers,
                size=lambda span: lengths[span[1]] - lengths[span[0]],
                done=lambda i: advance(tasks[i][1] - tasks[i][0]),
            )  # fmt: skip
        begins, features, weights, biases = join_parts(parts)
        return Classifiers(
            begins, narrow.named(features), weights, biases, n_features=int(X.shape[1]), transform=self.transform
        )


def pairs_by_label(Y: Csr, candidates: TopK) -> tuple[Int64, Int32, UInt8]:
    """(offsets, rows, positive): for each label the rows it is a candidate of or belongs to, ascending."""
    found = candidates.to_csr()
    marked = sp.csr_array((np.ones(found.nnz, np.float32), found.indices, found.indptr), shape=found.shape)
    own = sp.csr_array((np.full(Y.nnz, 2, np.float32), Y.indices, Y.indptr), shape=Y.shape)
    by_label: Any = (marked + own).tocsc()
    turned = assemble(by_label.data, by_label.indices, by_label.indptr, by_label.shape[::-1])
    positive = (turned.data >= 2).astype(np.uint8)
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32, copy=False), positive
