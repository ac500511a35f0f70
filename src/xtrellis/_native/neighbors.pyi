"""Training rows by similarity, and the votes of their labels."""

from typing import Any

from ..arrays import Array, Float32, Int32, Int64, UInt8, UInt32

BLOCK_ROWS: int
MOST_ROWS: int

def fitting(offsets: Int64, ids: Int32, values: Float32, columns: int, first: int) -> int: ...
def build(offsets: Int64, ids: Int32, values: Float32, columns: int, first: int, last: int) -> dict[str, Any]: ...

class Segment:
    def __init__(
        self, *, first: int, rows: int, norm: float, negative: bool, group_shift: int, columns: Int32, values: Float32,
        gaps: Array, group_begin: UInt32, row_offset: Array, numbers: UInt8, common: UInt8, ceilings: UInt8,
        short_begin: UInt32, short_postings: UInt8, long_ids: Int32, long_begin: UInt32, long_max: UInt8,
        long_form: UInt8, long_postings: Array, dense_ids: Int32, dense_codes: UInt8, dense_max: UInt8,
        label_begin: Int64, labels: Int32, removed: UInt8,
    ) -> None: ...
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
