"""Packing weights, and finding labels in a packed model."""

from ..arrays import Array, Float32, Float64, Int32, Int64, UInt8, UInt32

class Packed:
    def __init__(
        self, *, offsets: Int64, children: Int32, copies: int, block_offsets: Int64, bucket_offsets: Array,
        byte_offsets: Array, buckets: Array, bytes: Array, scales: Array, biases: Array, label_ranks: Int32,
        label_offsets: Float32, storage: int, bits: int, transform: int, most_copies: int,
    ) -> None: ...

class Places:
    def __init__(self, *, owner: Int32, node_slot: Int32, label_offsets: Int64, label_slots: Int32) -> None: ...

def batch(
    packed: Packed, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, beam: int,
    allowed: UInt8, labels: Int32, scores: Float32,
) -> None: ...
def single(
    packed: Packed, x_ids: Int32, x_values: Float32, beam: int, allowed: UInt8, labels: Int32, scores: Float32,
) -> None: ...
def one(
    packed: Packed, offsets: Array, ids: Array, values: Array, columns: int, largest: float, unit: bool, beam: int,
    labels: Int32, scores: Float32,
) -> bool: ...
def best_first(
    packed: Packed, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int, beam: int,
    slack: float, allowed: UInt8, labels: Int32, scores: Float32,
) -> int: ...
def one_together(
    packs: list[Packed], places: list[Places], beams: list[int], slacks: list[float], wide: int, most: int, deeper: int,
    ranks: Int32, precise: bool, offsets: Array, ids: Array, values: Array, columns: int, largest: float, unit: bool,
    labels: Int32, scores: Float32,
) -> bool: ...
def together(
    packs: list[Packed], places: list[Places], beams: list[int], slacks: list[float], wide: int, most: int, deeper: int,
    ranks: Int32, precise: bool, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int, last: int,
    labels: Int32, scores: Float32,
) -> None: ...
def join(
    packs: list[Packed], places: list[Places], ranks: Int32, precise: bool, x_offsets: Int64, x_ids: Int32,
    x_values: Float32, columns: int, first: int, last: int, found: Int32, found_scores: Float32, labels: Int32,
    scores: Float32, unseen: Float32,
) -> None: ...
def given(
    packed: Packed, places: Places, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int,
    last: int, wanted_offsets: Int64, wanted: Int32, scores: Float32,
) -> None: ...
def pack(
    features: Int32, starts: UInt32, children: UInt8, weights: Float32, *, storage: int, bits: int,
    scale: float = 0.0,
) -> tuple[UInt32, UInt8, float]: ...
def look_up(packed: Packed, block: int, features: Int32) -> tuple[Int64, Int64, Float64]: ...
def unpack(packed: Packed, block: int) -> tuple[Int32, UInt32, UInt8, Float32]: ...
def reach(
    level: Packed, first_node: int, x_offsets: Int64, x_ids: Int32, x_values: Float32, columns: int, first: int,
    last: int, offsets: Int64, nodes: Int32, scores: Float32, beam: int,
) -> tuple[Int64, Int32, Float32]: ...
