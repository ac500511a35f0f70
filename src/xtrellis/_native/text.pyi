from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from ..arrays import Float32, Int32, Int64, UInt8, UInt32

UInt64 = NDArray[np.uint64]

unicode_version: str

class Settings:
    def __init__(
        self, *, ngrams: int, char_shortest: int, char_longest: int, min_points: int, lowercase: bool,
        fold_accents: bool, sublinear_tf: bool, idf: bool, normalize: bool,
    ) -> None: ...

class Built(TypedDict):
    name_text: UInt8
    name_offsets: Int64
    word_text: UInt8
    word_offsets: Int64
    word_table: UInt64
    word_features: Int32
    gram_table: UInt32
    piece_table: UInt64
    rows: UInt32
    gram_features: Int32
    piece_features: Int32
    first_piece: int

class Counter:
    def __init__(self, settings: Settings) -> None: ...
    def add(self, blob: bytes, offsets: Int64, keep_rows: bool) -> tuple[Int64, UInt64]: ...
    def merge(self, other: Counter) -> tuple[UInt32, UInt32]: ...
    def build(self, least_rows: float, most_rows: float, most_features: int) -> Built: ...

class Vocabulary:
    def __init__(
        self, *, name_text: UInt8, name_offsets: Int64, word_text: UInt8, word_offsets: Int64, word_table: UInt64,
        word_features: Int32, gram_table: UInt32, piece_table: UInt64, first_piece: int, idf: Float32,
    ) -> None: ...
    def transform(self, blob: bytes, offsets: Int64, settings: Settings) -> tuple[Int64, Int32, Float32]: ...
    def transform_one(self, blob: bytes, settings: Settings) -> tuple[Int64, Int32, Float32]: ...
    def explain(self, blob: bytes, settings: Settings) -> list[tuple[int, int, int]]: ...

def surely_normal(blob: bytes) -> bool: ...
def weigh(
    offsets: Int64, counts: UInt64, gram_features: Int32, piece_features: Int32, idf: Float32, settings: Settings,
) -> tuple[Int64, Int32, Float32]: ...
def string_table_extent(table: UInt64) -> tuple[int, int]: ...
def gram_table_extent(table: UInt32) -> tuple[int, int]: ...
