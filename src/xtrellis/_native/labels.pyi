"""Vectors for labels, and which of them serve the rows."""

from ..arrays import Float32, Float64, Int32, Int64

def pifa(
    label_offsets: Int64, label_rows: Int32, row_weights: Float32, x_offsets: Int64, x_ids: Int32, x_values: Float32,
    columns: int, first: int, last: int, files: Int64 | None = None,
) -> tuple[Int64, Int32, Float32]: ...
def greedy_cover(
    y_offsets: Int64, y_labels: Int32, label_offsets: Int64, label_rows: Int32, weights: Float64, frequency: Float64,
    served: Float64,
) -> None: ...
