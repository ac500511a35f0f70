"""Arrays: what users pass in is checked here, once; what kernels get is made here; `TopK` and lists of strings."""

from .csr import (
    MAX_ID,
    Rows,
    assemble,
    for_scipy,
    join_parts,
    n_bytes_of,
    ranges,
    row_numbers,
    spans_of_work,
    take_rows,
    transpose,
    unit_rows,
    unit_values,
)
from .features import concatenate_features
from .inputs import as_features, as_labels, as_pairs, as_row, as_rows, check_structure
from .strings import StringTable, as_texts
from .topk import TopK
from .types import Array, Csr, Float32, Float64, Int32, Int64, UInt8, UInt32, UInt64

__all__ = [
    "MAX_ID", "Array", "Csr", "Float32", "Float64", "Int32", "Int64", "Rows", "StringTable", "TopK", "UInt8", "UInt32",
    "UInt64", "as_features", "as_labels", "as_pairs", "as_row", "as_rows", "as_texts", "assemble", "check_structure",
    "concatenate_features", "for_scipy", "join_parts", "n_bytes_of", "ranges", "row_numbers", "spans_of_work",
    "take_rows", "transpose", "unit_rows", "unit_values",
]  # fmt: skip
