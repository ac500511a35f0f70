"""Vectors for labels."""

from ..types import Float32, Int32, Int64

def pifa(
    label_offsets: Int64,
    label_rows: Int32,
    row_weights: Float32,
    x_offsets: Int64,
    x_ids: Int32,
    x_values: Float32,
    columns: int,
    first: int,
    last: int,
) -> tuple[Int64, Int32, Float32]: ...
