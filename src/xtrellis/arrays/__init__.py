"""Arrays: what users pass in is checked here, once; what kernels get is made here; `TopK` and lists of strings."""

from .csr import (
    MAX_ID,
    Rows,
    assemble,
    count_ids,
    for_scipy,
    is_on_disk,
    join_parts,
    known_good,
    n_bytes_of,
    ranges,
    row_numbers,
    row_spans,
    spans_of_work,
    take_rows,
    transpose,
    unit_rows,
    unit_values,
)
from .features import concatenate_features
from .inputs import LARGEST_FEATURE, as_features, as_labels, as_pairs, as_row, as_rows
from .label_lists import as_matrix
from .limits import UNFOLDED_TIMES, unfolds_too_far
from .numbers import as_integers, as_numbers, as_plain
from .right import is_right, is_right_pair
from .saved import SavedMatrix, read_saved
from .strings import StringTable, as_texts, is_list
from .structure import CsrParts, csr_parts, parts_of
from .topk import TopK
from .types import Array, Csr, Float32, Float64, Int32, Int64, UInt8, UInt32, UInt64

__all__ = [
    "LARGEST_FEATURE", "MAX_ID", "UNFOLDED_TIMES", "Array", "Csr", "CsrParts", "Float32", "Float64", "Int32",
    "Int64", "Rows", "SavedMatrix", "StringTable", "TopK", "UInt8", "UInt32", "UInt64", "as_features",
    "as_integers", "as_labels", "as_matrix", "as_numbers", "as_pairs", "as_plain", "as_row", "as_rows", "as_texts",
    "assemble", "concatenate_features", "count_ids", "csr_parts", "for_scipy", "is_list", "is_on_disk", "is_right",
    "is_right_pair", "join_parts", "known_good", "n_bytes_of", "parts_of", "ranges", "read_saved", "row_numbers",
    "row_spans", "spans_of_work", "take_rows", "transpose", "unfolds_too_far", "unit_rows", "unit_values",
]  # fmt: skip
