"""Label names found in texts."""

from ..arrays import Array, Float32, Float64, Int32, Int64, UInt8
from .text import Settings, UInt64

form_features: int
all_features: int

class Scorer:
    def __init__(
        self, *, at: Float64, values: Float64, used: Int32, bias: Float64, rows: Int32, matches: Int32, hits: Int32,
        general: Float64, smoothing: float, ranks: Int32,
    ) -> None: ...

class Index:
    def __init__(
        self, *, word_text: UInt8, word_offsets: Int64, word_table: UInt64, weights: Float32, near_offsets: Int64,
        near_words: Int32, near_likeness: Float32, form_offsets: Int64, form_words: Int32, form_main: Int32,
        form_ambiguity: Float32, label_offsets: Int64, labels: Int32, n_labels: int, post_offsets: Int64, posts: Int32,
        post_shares: Float32, post_others: Int32, post_other_shares: Float32, partial: float, likeness: float,
    ) -> None: ...
    def candidates(
        self, blob: bytes, offsets: Int64, settings: Settings
    ) -> tuple[Int64, Int32, Int32, UInt8, Float32]: ...
    def count(
        self, blob: bytes, offsets: Int64, settings: Settings, own_offsets: Int64, own_labels: Int32, matches: Int32,
        hits: Int32, per_row: Int64,
    ) -> None: ...
    def best(
        self, blob: bytes, offsets: Int64, settings: Settings, scorer: Scorer, left_offsets: Int64, left_labels: Int32,
        allowed: UInt8, labels: Array, scores: Array,
    ) -> None: ...
    def given(
        self, blob: bytes, offsets: Int64, settings: Settings, scorer: Scorer, left_offsets: Int64, left_labels: Int32,
        pair_offsets: Int64, pair_labels: Int32, scores: Array,
    ) -> None: ...
    def places(self, blob: bytes, settings: Settings, form: int) -> tuple[Int32, Int32, Float32]: ...

def words(blob: bytes, offsets: Int64, settings: Settings) -> tuple[Int64, Int32, UInt8, Int64]: ...
def word_counts(blob: bytes, offsets: Int64, settings: Settings) -> tuple[UInt8, Int64, Int64]: ...
def word_table(text: UInt8, offsets: Int64) -> UInt64: ...
def near(text: UInt8, offsets: Int64, table: UInt64, likeness: float) -> tuple[Int64, Int32, Float32]: ...
def slopes(
    at: Float64, values: Float64, used: Int32, bias: float, features: Float32, right: UInt8, gradient: Array,
    curvature: Array,
) -> float: ...
def within(at: Float64, gradient: Float64, curvature: Float64, low: Float64, high: Float64, sweeps: int) -> None: ...
def table_extent(table: UInt64) -> tuple[int, int]: ...
