"""Finding labels in a packed model."""

from ..types import Array, Float32, Int32, Int64

class Packed:
    def __init__(
        self,
        offsets: Int64,
        children: Int32,
        labels: int,
        block_offsets: Int64,
        feature_offsets: Array,
        entry_offsets: Array,
        features: Array,
        starts: Array,
        entry_children: Array,
        values: Array,
        biases: Array,
        n_features: int,
        transform: int,
    ) -> None: ...

def batch(
    packed: Packed,
    x_offsets: Int64,
    x_ids: Int32,
    x_values: Float32,
    columns: int,
    first: int,
    last: int,
    beam: int,
    labels: Int32,
    scores: Float32,
) -> None: ...
def single(packed: Packed, x_ids: Int32, x_values: Float32, beam: int, labels: Int32, scores: Float32) -> None: ...
def reach(
    level: Packed,
    first_node: int,
    x_offsets: Int64,
    x_ids: Int32,
    x_values: Float32,
    columns: int,
    first: int,
    last: int,
    offsets: Int64,
    nodes: Int32,
    scores: Float32,
    beam: int,
) -> tuple[Int64, Int32, Float32]: ...
