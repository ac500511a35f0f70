"""Routing rows to nodes and training the classifiers of a block."""

from ..arrays import Float32, Int32, Int64, UInt8, UInt32

def route(
    y_offsets: Int64, y_ids: Int32, offsets: Int64, owner: Int32, node_slot: Int32, label_offsets: Int64,
    label_slots: Int32, *, first: int, last: int, teacher: bool, reached_offsets: Int64, reached_nodes: Int32,
) -> tuple[Int64, Int32, Int64, Int32]: ...
def variants() -> int:  # of the solver that this machine runs: 0 (plain), 1 (AVX2), 2 (AVX-512)
    ...
def train(
    x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, rows: Int32, positive_offsets: Int64,
    positives: Int32, row_weights: Float32, *, first: int, count: int, bias: float, loss: int, cost_positive: float,
    cost_negative: float, tolerance: float, epochs: int, threshold: float, max_weights: int, key: int,
    files: Int64 | None = None, variant: int = 2,
) -> tuple[Int32, UInt32, UInt8, Float32, Float32, Int32, UInt8]: ...
def revise(
    features: Int32, starts: UInt32, children: UInt8, weights: Float32, new_features: Int32, new_starts: UInt32,
    new_children: UInt8, new_weights: Float32, gone: UInt8,
) -> tuple[Int32, UInt32, UInt8, Float32]: ...
def train_each(
    x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, row_offsets: Int64, rows: Int32, positive: UInt8,
    *, first: int, last: int, bias: float, loss: int, cost_positive: float, cost_negative: float, tolerance: float,
    epochs: int, threshold: float, max_weights: int, key: int,
) -> tuple[Int64, Int32, Float32, Float32]: ...
# Larger arrays go to files there (0: none do), but for so many bytes of a node's rows.
def spill_to(folder: str, walked: int, probed: int, kept: int = 0) -> None: ...
def drop_spilled() -> None: ...  # their pages, until somebody looks at them
