"""`SoftmaxNetwork`: a label tree with its trained vectors, ready for search.

A row's hidden vector is the mean of its features' embeddings. A node with two children is one logistic unit, a node
with more a softmax over as many; a label's probability is the product on its path, and all of them sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._native import softmax as native
from ..arrays import Csr, Float32, Float64, Int32, Int64, Rows, TopK, assemble, for_scipy
from ..core import StoreError, by_rows
from ..index import LabelTree
from ..linear import EVERYTHING, open_slots
from ..model import LabelSet
from ..store import State, Storable

WEIGHTINGS = {"average": 0, "weighted": 1, "unit": 2}


def unit_offsets(tree: LabelTree) -> Int32:
    """Where the output vectors of each node begin: one for two children, none for one, else one a child."""
    arity = np.diff(tree.offsets)
    return np.concatenate([[0], np.cumsum(np.where(arity <= 2, arity - 1, arity))]).astype(np.int32)


class SoftmaxNetwork(Storable):
    """A label tree, the features' embeddings (the last one is the constant feature's) and the nodes' vectors."""

    def __init__(self, tree: LabelTree, embeddings: Float32, units: Float32, *, weighting: str, bias: float) -> None:
        self.tree, self.embeddings, self.units = tree, embeddings, units
        self.weighting, self.bias = weighting, bias
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
            weighing=WEIGHTINGS[weighting],
            bias=bias,
        )

    @property
    def dim(self) -> int:
        """Length of the vectors."""
        return int(self.embeddings.shape[1]) if self.embeddings.ndim == 2 else 0

    def units_of(self, node: int) -> Float64:
        """An output vector for each child of a node: of two children, the second one's is 0, of one too."""
        units = self.units[self._unit_begin[node] : self._unit_begin[node + 1]].astype(np.float64)
        arity = int(self.tree.offsets[node + 1] - self.tree.offsets[node])
        return np.concatenate([units, np.zeros((arity - len(units), self.dim))])

    @property
    def n_features(self) -> int:
        """Features it knows, the constant one not counted."""
        return len(self.embeddings) - 1

    @property
    def n_bytes(self) -> int:
        """Bytes of all vectors."""
        return int(self.embeddings.nbytes + self.units.nbytes)

    def search(
        self, X: Rows | Csr, k: int, *, labels: Int64 | LabelSet | None = None, threads: int | None = None
    ) -> TopK:
        """The k most probable labels of each row, exactly; of a label in several places the best one counts."""
        k = min(k, self.tree.n_labels if labels is None else len(labels))
        found, scores = np.empty((X.shape[0], k), np.int32), np.empty((X.shape[0], k), np.float32)
        allowed = EVERYTHING if labels is None else open_slots(self.tree, labels)

        def part(first: int, last: int) -> None:
            self._native.best_first(X.indptr, X.indices, X.data, X.shape[1], first, last, allowed, found, scores)

        by_rows(part, X.shape[0], chunk=1024, threads=threads, at_least=32, title="searching")
        return TopK(found, scores, self.tree.n_labels)

    def score(self, X: Rows | Csr, wanted: Csr, *, threads: int | None = None) -> Csr:
        """Probabilities of the stored entries of `wanted`, rows × labels."""
        scores = np.empty(wanted.nnz, np.float32)
        offsets, slots = self.tree.label_slots

        def part(first: int, last: int) -> None:
            self._native.given(
                offsets, slots, X.indptr, X.indices, X.data, X.shape[1], first, last,
                wanted.indptr, wanted.indices, scores,
            )  # fmt: skip

        by_rows(part, X.shape[0], chunk=1024, threads=threads, at_least=32, title="searching")
        return for_scipy(assemble(scores, wanted.indices, wanted.indptr, wanted.shape))

    def to_state(self) -> State:
        """For the store."""
        meta = {"weighting": self.weighting, "bias": self.bias}
        return State(meta=meta, arrays={"embeddings": self.embeddings, "units": self.units}, parts={"tree": self.tree})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> SoftmaxNetwork:
        """From the store."""
        tree, weighting, bias = state.parts.get("tree"), state.meta.get("weighting"), state.meta.get("bias")
        if not isinstance(tree, LabelTree) or set(state.arrays) != {"embeddings", "units"}:
            raise StoreError("a SoftmaxNetwork holds a part 'tree' and the arrays 'embeddings' and 'units'")
        if weighting not in WEIGHTINGS:
            raise StoreError(f"weighting must be one of {', '.join(WEIGHTINGS)}; got {weighting!r}")
        if isinstance(bias, bool) or not isinstance(bias, (int, float)) or not 0 <= bias < np.inf:
            raise StoreError(f"bias must be a number ≥ 0; got {bias!r}")
        return cls(tree, state.arrays["embeddings"], state.arrays["units"], weighting=weighting, bias=float(bias))
