"""`Network`: a label tree with its trained vectors, ready for search.

A row's hidden vector is the mean of its features' embeddings. A node with two children is one logistic unit, a node
with more a softmax over as many; a label's probability is the product on its path, and all of them sum to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import progress
from .._native import softmax as native
from ..arrays import Rows, assemble, for_scipy
from ..errors import StoreError
from ..index import LabelTree
from ..linear.search import EVERYTHING, open_slots
from ..parallel import run, spans, thread_count
from ..store import State, Storable
from ..types import Csr, Float32, Int32, Int64, TopK

WEIGHINGS = {"average": 0, "weighted": 1, "unit": 2}


def unit_offsets(tree: LabelTree) -> Int32:
    """Where the output vectors of each node begin: one for two children, none for one, else one a child."""
    arity = np.diff(tree.offsets)
    return np.concatenate([[0], np.cumsum(np.where(arity <= 2, arity - 1, arity))]).astype(np.int32)


class Network(Storable):
    """A label tree, the features' embeddings (the last one is the constant feature's) and the nodes' vectors."""

    def __init__(self, tree: LabelTree, embeddings: Float32, units: Float32, *, weighing: str, bias: float) -> None:
        self.tree, self.embeddings, self.units = tree, embeddings, units
        self.weighing, self.bias = weighing, bias
        self._unit_begin = unit_offsets(tree)
        shapes = {"embeddings": (max(1, len(embeddings)), self.dim), "units": (int(self._unit_begin[-1]), self.dim)}
        for name, array in (("embeddings", embeddings), ("units", units)):
            if array.dtype != np.float32 or array.shape != shapes[name] or not array.flags.c_contiguous or not self.dim:
                raise StoreError(f"{name} must be float32 of shape {shapes[name]}; got {array.dtype} {array.shape}")
        self._native = native.Model(
            offsets=tree.offsets,
            children=tree.children,
            owner=tree.owner,
            node_slot=tree.node_slot,
            unit_begin=self._unit_begin,
            copies=tree.has_copies,
            embeddings=embeddings,
            units=units,
            weighing=WEIGHINGS[weighing],
            bias=bias,
        )

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return int(self.embeddings.shape[1]) if self.embeddings.ndim == 2 else 0

    @property
    def n_features(self) -> int:
        """Features it knows, the constant one not counted."""
        return len(self.embeddings) - 1

    @property
    def n_bytes(self) -> int:
        """Bytes of all vectors."""
        return int(self.embeddings.nbytes + self.units.nbytes)

    def search(self, X: Rows, k: int, *, labels: Int64 | None = None, threads: int | None = None) -> TopK:
        """The k most probable labels of each row, exactly; of a label in several places the best one counts."""
        k = min(k, self.tree.n_labels if labels is None else len(labels))
        found, scores = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32)
        allowed = EVERYTHING if labels is None else open_slots(self.tree, labels)

        def part(first: int, last: int) -> None:
            self._native.best_first(X.indptr, X.indices, X.data, X.shape[1], first, last, allowed, found, scores)

        _by_rows(part, X.shape[0], threads)
        return TopK(found, scores, self.tree.n_labels)

    def score(self, X: Rows, wanted: Csr, *, threads: int | None = None) -> Csr:
        """Probabilities of the stored entries of `wanted`, rows × labels."""
        scores = np.empty(wanted.nnz, np.float32)
        offsets, slots = self.tree.label_slots

        def part(first: int, last: int) -> None:
            self._native.given(
                offsets, slots, X.indptr, X.indices, X.data, X.shape[1], first, last,
                wanted.indptr, wanted.indices, scores,
            )  # fmt: skip

        _by_rows(part, X.shape[0], threads)
        return for_scipy(assemble(scores, wanted.indices, wanted.indptr, wanted.shape))

    def to_state(self) -> State:
        """For the store."""
        meta = {"weighing": self.weighing, "bias": self.bias}
        return State(meta=meta, arrays={"embeddings": self.embeddings, "units": self.units}, parts={"tree": self.tree})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Network:
        """From the store."""
        tree, weighing, bias = state.parts.get("tree"), state.meta.get("weighing"), state.meta.get("bias")
        if not isinstance(tree, LabelTree) or set(state.arrays) != {"embeddings", "units"}:
            raise StoreError("a Network holds a part 'tree' and the arrays 'embeddings' and 'units'")
        if weighing not in WEIGHINGS:
            raise StoreError(f"weighing must be one of {', '.join(WEIGHINGS)}; got {weighing!r}")
        if isinstance(bias, bool) or not isinstance(bias, (int, float)) or not 0 <= bias < np.inf:
            raise StoreError(f"bias must be a number ≥ 0; got {bias!r}")
        return cls(tree, state.arrays["embeddings"], state.arrays["units"], weighing=weighing, bias=float(bias))


def _by_rows(work: Callable[[int, int], object], n: int, threads: int | None) -> None:
    if n == 1:
        work(0, 1)
        return
    workers = thread_count(threads)
    pieces = spans(n, max(workers, -(-n // 1024)), at_least=32)
    with progress.step("searching", total=n, unit="rows") as advance:
        run(lambda span: work(*span), pieces, threads=workers, done=lambda i: advance(pieces[i][1] - pieces[i][0]))
