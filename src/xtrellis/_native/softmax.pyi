"""Hierarchical softmax over averaged embeddings."""

from ..arrays import Float32, Int32, Int64, UInt8

def shards(dim: int) -> int: ...

class Trainer:
    def __init__(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, offsets: Int64, children: Int32,
        owner: Int32, node_slot: Int32, unit_begin: Int32, *, units: int, dim: int, members: int, batch: int,
        asynchronous: bool, weighing: int, bias: float, key: int,
    ) -> None: ...
    def run(self, member: int, rows: Int32, slots: Int32, rate_first: float, rate_last: float) -> None: ...
    def collect(self, embeddings: Float32, units: Float32) -> None: ...

class Model:
    def __init__(
        self, *, offsets: Int64, children: Int32, owner: Int32, node_slot: Int32, unit_begin: Int32, copies: bool,
        embeddings: Float32, units: Float32, weighing: int, bias: float,
    ) -> None: ...
    def best_first(
        self, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, allowed: UInt8,
        labels: Int32, scores: Float32,
    ) -> None: ...
    def given(
        self, label_offsets: Int64, label_slots: Int32, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int,
        first: int, last: int, wanted_offsets: Int64, wanted: Int32, scores: Float32,
    ) -> None: ...
