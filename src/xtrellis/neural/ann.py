"""Search among very many labels without looking at all of them.

faiss (extra `ann`) builds an HNSW graph; its links are taken out and kept as plain arrays, which our own kernel walks.
So a model with an index is memory-mapped like any other, needs no library to predict, and cannot be made to read
outside its arrays by a damaged file: the libraries' own formats can (docs/ann.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import progress
from .._native import neural as native
from ..errors import MissingExtraError, StoreError
from ..parallel import run, spans, thread_count
from ..store import State, Storable
from ..types import Float32, Int32

if TYPE_CHECKING:
    from typing_extensions import Self

LINKS = 32  # of a label on the upper layers; twice as many on the bottom one
EFFORT = 100  # labels kept under way while a label is linked
ENTRIES = 1024  # at most: all are looked at first


class LabelIndex(Storable):
    """Which labels lie near each other, and where a search begins."""

    def __init__(self, neighbours: Int32, entries: Int32) -> None:
        self.neighbours, self.entries = neighbours, entries

    @property
    def n_labels(self) -> int:
        """Labels in the graph."""
        return len(self.neighbours)

    @staticmethod
    def available() -> bool:
        """True if the library that builds an index is installed."""
        return find_spec("faiss") is not None

    @classmethod
    def build(cls, V: Float32, *, threads: int | None = None) -> Self:
        """Link the labels by their vectors. On one thread: with more, the links would depend on who comes first."""
        try:
            import faiss
        except ImportError:
            raise MissingExtraError("faiss", "ann", "an index of labels (search='ann')") from None
        graph = faiss.IndexHNSWFlat(int(V.shape[1]), LINKS, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = EFFORT
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            with progress.step("linking labels", total=len(V), unit="labels") as advance:
                for first, last in spans(len(V), len(V) // 10_000 + 1):
                    graph.add(np.ascontiguousarray(V[first:last]))
                    advance(last - first)
        finally:
            faiss.omp_set_num_threads(before)
        hnsw: Any = graph.hnsw
        levels = faiss.vector_to_array(hnsw.levels)
        offsets = faiss.vector_to_array(hnsw.offsets).astype(np.int64)[:-1]
        links = faiss.vector_to_array(hnsw.neighbors)
        neighbours = links[offsets[:, None] + np.arange(2 * LINKS)].astype(np.int32)
        entries = np.argsort(-levels, kind="stable")[: min(ENTRIES, max(1, len(V) // 100))]
        return cls(neighbours, np.sort(entries).astype(np.int32))

    def search(
        self, queries: Float32, V: Float32, k: int, *, beam: int, threads: int | None = None
    ) -> tuple[Int32, Float32]:
        """The k best labels found, with their exact products; -1 pads."""
        n = len(queries)
        labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

        def part(span: tuple[int, int]) -> None:
            at = slice(*span)
            native.walk(self.neighbours, self.entries, queries[at], V, beam, labels[at], scores[at])

        run(part, spans(n, 8 * thread_count(threads), at_least=4), threads=threads)
        return labels, scores

    def to_state(self) -> State:
        """For the store."""
        return State(arrays={"neighbours": self.neighbours, "entries": self.entries})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store; every link is looked at, since the kernel trusts them."""
        if set(state.arrays) != {"neighbours", "entries"}:
            raise StoreError("a LabelIndex needs the arrays neighbours and entries")
        neighbours, entries = state.arrays["neighbours"], state.arrays["entries"]
        for name, array, dimensions in (("neighbours", neighbours, 2), ("entries", entries, 1)):
            if array.dtype != np.int32 or array.ndim != dimensions or not array.size:
                raise StoreError(f"{name} of a LabelIndex must be int32 of {dimensions} dimensions, and not empty")
            if array.min() < 1 - dimensions or array.max() >= len(neighbours):  # -1 pads neighbours, not entries
                raise StoreError(f"{name} of a LabelIndex must be labels below {len(neighbours)}")
        return cls(neighbours, entries)
