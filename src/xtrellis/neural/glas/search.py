"""Search among very many labels without comparing with all of their vectors.

An index is the labels' vectors once more, in 2 bits a dimension (1/16 of their size): all of these codes are looked
through, and the labels that they promise most are compared exactly. That needs no clusters and no graph, which label
vectors spread over the sphere would defeat (docs/ann.md); it is made in a moment, it is the same every time, and no
byte of a damaged file can lead the kernel outside its arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._native import neural as native
from ...arrays import Float32, Int32, UInt8
from ...core import StoreError, progress, run, spans, thread_count
from ...store import State, Storable

if TYPE_CHECKING:
    from typing_extensions import Self

BLOCK = 64  # labels whose codes lie side by side
MEASURED = 100_000  # labels at most that a dimension's mean and deviation come from
AT_LEAST = 8  # labels compared exactly for each one asked for
# The four levels that keep most of a normal variable (Max 1960); the code changes halfway between two.
LEVELS = np.array([-1.510, -0.4528, 0.4528, 1.510], np.float32)


class LabelIndex(Storable):
    """Codes of label vectors: blocks × (bytes · 64), as native/neural/codes.hpp lays them out, and dim × 4 levels."""

    def __init__(self, codes: UInt8, levels: Float32) -> None:
        self.codes, self.levels = codes, levels

    @classmethod
    def build(cls, V: Float32, *, threads: int | None = None) -> Self:
        """Code the vectors of all labels."""
        levels = _levels(V)
        blocks = -(-len(V) // BLOCK)
        codes = np.empty((blocks, _width(V.shape[1])), np.uint8)
        pieces = spans(blocks, blocks // 64 + 1)
        with progress.step("coding label vectors", total=len(pieces), unit="pieces") as advance:
            run(
                lambda span: _code(V[span[0] * BLOCK : span[1] * BLOCK], levels, codes[slice(*span)]),
                pieces,
                threads=threads,
                done=lambda _: advance(1),
            )
        return cls(codes, levels)

    def fits(self, V: Float32) -> bool:
        """True if this can be an index of these vectors."""
        return self.codes.shape == (-(-len(V) // BLOCK), _width(V.shape[1])) and len(self.levels) == V.shape[1]

    def search(
        self, queries: Float32, V: Float32, k: int, *, beam: int, threads: int | None = None
    ) -> tuple[Int32, Float32]:
        """The k best of the `beam` most promising labels (8 k at least), with their exact products; -1 pads."""
        n, k = len(queries), min(k, len(V))
        labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        keep = min(max(beam, AT_LEAST * k), len(V))

        def part(span: tuple[int, int]) -> None:
            at = slice(*span)
            native.scan(self.codes, self.levels, queries[at], V, keep, labels[at], scores[at])

        run(part, spans(n, 8 * thread_count(threads), at_least=4), threads=threads)
        return labels, scores

    def to_state(self) -> State:
        """For the store."""
        return State(arrays={"codes": self.codes, "levels": self.levels})

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store. Any codes will do for the kernel; their number is what `fits` looks at."""
        if set(state.arrays) != {"codes", "levels"}:
            raise StoreError("a LabelIndex needs the arrays codes and levels")
        codes, levels = state.arrays["codes"], state.arrays["levels"]
        if codes.dtype != np.uint8 or codes.ndim != 2:
            raise StoreError(f"codes of a LabelIndex must be uint8 of 2 dimensions; got {codes.dtype} {codes.shape}")
        if levels.dtype != np.float32 or levels.shape != (len(levels), 4) or not np.isfinite(levels).all():
            raise StoreError(
                f"levels of a LabelIndex must be finite float32, 4 per dimension; got {levels.dtype} {levels.shape}"
            )
        return cls(codes, levels)


def _width(dim: int) -> int:
    """Of a block: whole pairs of bytes of 4 dimensions, for each of its labels."""
    return BLOCK * 2 * -(-dim // 8)


def _levels(V: Float32) -> Float32:
    """What the codes of each dimension stand for; labels without rows, whose vectors are 0, do not count."""
    some = V[:: len(V) // MEASURED + 1]
    some = some[some.any(axis=1)]
    if not len(some):
        return np.zeros((V.shape[1], 4), np.float32)
    mean, deviation = some.mean(0, dtype=np.float64), some.std(0, dtype=np.float64)
    deviation = np.maximum(deviation, np.abs(mean) / 4)  # where all are alike, 0 must still differ from them
    levels: Float32 = (mean[:, None] + deviation[:, None] * LEVELS).astype(np.float32)
    return levels


def _code(V: Float32, levels: Float32, out: UInt8) -> None:
    """Write the blocks of some labels; the last block may be short of labels, and the last byte of dimensions."""
    width = out.shape[1] // BLOCK
    codes = np.zeros((len(out) * BLOCK, 4 * width), np.uint8)
    inner = codes[: len(V), : V.shape[1]]
    for edge in ((levels[:, 1:] + levels[:, :-1]) / 2).T:
        inner += edge < V
    quarters = codes.reshape(len(out), 2, BLOCK // 2, width, 4)
    whole = quarters[..., 0] | quarters[..., 1] << 2 | quarters[..., 2] << 4 | quarters[..., 3] << 6
    # block, half, label, byte -> block, byte, label, half
    out[:] = whole.transpose(0, 3, 2, 1).reshape(len(out), -1)
