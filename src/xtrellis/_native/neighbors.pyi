"""Training rows by similarity, and the votes of their labels."""

from typing import Any

from ..arrays import Array, Float32, Int32, Int64, UInt8, UInt32

BLOCK_ROWS: int
MOST_ROWS: int
GROUP_BLOCKS: int

def groups(rows: int) -> int: ...
def n_bytes(entries: int, values: int) -> int: ...
def fitting(offsets: Int64, ids: Int32, values: Float32, columns: int, first: int) -> int: ...
def build(offsets: Int64, ids: Int32, values: Float32, columns: int, first: int, last: int) -> dict[str, Any]: ...

class Segment:
    def __init__(
        self, *, first: int, rows: int, norm: float, negative: bool, columns: Int32, begins: UInt32, bytes: UInt8,
        numbers: UInt8, ceilings: UInt8, list_begin: UInt32, list_blocks: Array, list_codes: UInt8, dense_ids: Int32,
        dense_codes: UInt8, dense_tops: UInt8, label_begin: Int64, labels: Int32, removed: UInt8,
    ) -> None: ...
    def row(self, place: int) -> tuple[Int32, Float32]: ...
    def dead(self) -> int: ...
    def unpack(self) -> tuple[Int64, Int32, Float32]: ...

class Index:
    def __init__(self) -> None: ...
    def append(self, segment: Segment) -> None: ...
    def nearest(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        rows: Int32, similarities: Float32, work: Int64,
    ) -> None: ...
    def vote(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        neighbors: int, power: float, weights: Float32, counts: Int64, allowed: UInt8, labels: Int32, scores: Float32,
    ) -> None: ...
    def given(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        neighbors: int, power: float, weights: Float32, counts: Int64, wanted_offsets: Int64, wanted: Int32,
        scores: Float32,
    ) -> None: ...

class Table:
    def __init__(self, index: Index, offsets: Int64, ids: Int32, values: Float32, columns: int) -> None: ...
    def nearest(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        rows: Int32, similarities: Float32, work: Int64,
    ) -> None: ...
    def vote(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        neighbors: int, power: float, weights: Float32, counts: Int64, allowed: UInt8, labels: Int32, scores: Float32,
    ) -> None: ...
    def given(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        neighbors: int, power: float, weights: Float32, counts: Int64, wanted_offsets: Int64, wanted: Int32,
        scores: Float32,
    ) -> None: ...

class Mixed:
    def __init__(self, index: Index, offsets: Int64, ids: Int32, values: Float32, columns: int) -> None: ...
    def nearest(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        rows: Int32, similarities: Float32, work: Int64,
    ) -> None: ...
    def vote(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        neighbors: int, power: float, weights: Float32, counts: Int64, allowed: UInt8, labels: Int32, scores: Float32,
    ) -> None: ...
    def given(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, exclude: Int32,
        neighbors: int, power: float, weights: Float32, counts: Int64, wanted_offsets: Int64, wanted: Int32,
        scores: Float32,
    ) -> None: ...
