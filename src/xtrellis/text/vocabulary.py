"""A fitted vocabulary: arrays that are stored as they are and used where they lie (native/text/vocabulary.hpp)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._native import text as native
from ..arrays import Array, Float32, Int32, StringTable, UInt8, UInt32
from ..core import StoreError

if TYPE_CHECKING:
    from .._native.text import Built, UInt64

EMPTY = np.uint64(2**64 - 1)  # a slot of a table of strings
HASH = 1  # the version of native/text/hash.hpp that made the tables


class Vocabulary:
    """Words, n-grams and character pieces, each with its feature number, and the weight of every feature."""

    def __init__(
        self,
        *,
        names: StringTable,
        words: StringTable,
        word_table: UInt64,
        word_features: Int32,
        gram_table: UInt32,
        piece_table: UInt64,
        first_piece: int,
        idf: Float32,
        fitted: int | None = None,
    ) -> None:
        self.names, self.words = names, words
        self.fitted = len(names) if fitted is None else fitted  # features from here on were learned later
        self.word_table, self.word_features = word_table, word_features
        self.gram_table, self.piece_table = gram_table, piece_table
        self.first_piece, self.idf = first_piece, idf
        self.native = native.Vocabulary(
            name_text=names.text,
            name_offsets=names.offsets,
            word_text=words.text,
            word_offsets=words.offsets,
            word_table=word_table,
            word_features=word_features,
            gram_table=gram_table,
            piece_table=piece_table,
            first_piece=first_piece,
            idf=idf,
        )

    @classmethod
    def from_built(cls, built: Built, n_rows: int) -> Vocabulary:
        """From what the kernel built; idf as scikit-learn's smooth idf: ln((1 + n) / (1 + df)) + 1."""
        idf = np.log((1.0 + n_rows) / (1.0 + built["rows"].astype(np.float64))) + 1.0
        return cls(
            names=StringTable(built["name_text"], built["name_offsets"]),
            words=StringTable(built["word_text"], built["word_offsets"]),
            word_table=built["word_table"],
            word_features=built["word_features"],
            gram_table=built["gram_table"].reshape(-1, 4),
            piece_table=built["piece_table"],
            first_piece=built["first_piece"],
            idf=idf.astype(np.float32),
        )

    def grown(self, built: Built, n_rows: int) -> Vocabulary:
        """With what the kernel found to be new, in some of `n_rows` rows; all else keeps its number and weight."""
        idf = np.log((1.0 + n_rows) / (1.0 + built["rows"].astype(np.float64))) + 1.0
        return Vocabulary(
            names=self.names.and_these(StringTable(built["name_text"], built["name_offsets"])),
            words=self.words.and_these(StringTable(built["word_text"], built["word_offsets"])),
            word_table=built["word_table"],
            word_features=built["word_features"],
            gram_table=built["gram_table"].reshape(-1, 4),
            piece_table=built["piece_table"],
            first_piece=self.first_piece,
            idf=np.concatenate([self.idf, idf.astype(np.float32)]),
            fitted=self.fitted,
        )

    def without(self, gone: UInt8) -> Vocabulary:
        """Some features (1 each) are never found again, and their texts are gone; their numbers stay."""
        needed, word_features, gram_table = native.prune(self.native, gone)
        names, words = self.names.emptied(gone > 0), self.words.emptied(needed == 0)
        offsets = names.offsets[self.first_piece :] - names.offsets[self.first_piece]
        pieces = self._pieces & (gone[self.first_piece :] == 0)
        return Vocabulary(
            names=names,
            words=words,
            word_table=native.string_table(words.text, words.offsets, needed),
            word_features=word_features,
            gram_table=gram_table.reshape(-1, 4),
            piece_table=native.string_table(
                names.text[names.offsets[self.first_piece] :], offsets, pieces.astype(np.uint8)
            ),
            first_piece=self.first_piece,
            idf=self.idf,
            fitted=self.fitted,
        )

    def __deepcopy__(self, memo: object) -> Vocabulary:
        """Itself: nothing ever changes it, so copies of a vectoriser may share it."""
        return self

    @cached_property
    def _pieces(self) -> Array:
        """True for each feature from `first_piece` on that is a piece: later n-grams of words are there too."""
        flags = np.zeros(len(self.names) - self.first_piece, np.bool_)
        found = self.piece_table[self.piece_table != EMPTY] & np.uint64(0xFFFFFFFF)
        flags[found.astype(np.int64)] = True
        return flags

    def is_piece(self, features: Int32) -> Array:
        """True for each of these that is a piece of characters."""
        late = features >= self.first_piece
        if self.fitted == len(self.names):
            return late
        found: Array = late.copy()
        found[late] = self._pieces[features[late] - self.first_piece]
        return found

    def to_arrays(self) -> dict[str, Array]:
        """For a store, without copies."""
        return {
            **self.names.to_arrays("names"),
            **self.words.to_arrays("words"),
            "words.table": self.word_table,
            "words.features": self.word_features,
            "grams.table": self.gram_table,
            "pieces.table": self.piece_table,
            "idf": self.idf,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], first_piece: int, fitted: int | None = None) -> Vocabulary:
        """From a store, checked so that no look-up can leave an array or run for ever."""
        arrays = {name: _aligned(name, array) for name, array in arrays.items()}
        names, words = StringTable.from_arrays(arrays, "names"), StringTable.from_arrays(arrays, "words")
        word_table = _take(arrays, "words.table", np.uint64)
        piece_table = _take(arrays, "pieces.table", np.uint64)
        gram_table = _take(arrays, "grams.table", np.uint32, columns=4)
        features = _take(arrays, "words.features", np.int32)
        idf = _take(arrays, "idf", np.float32)

        n, n_pieces = len(names), len(names) - first_piece
        fitted = n if fitted is None else fitted
        if n_pieces < 0 or not first_piece <= fitted <= n:
            raise StoreError(f"first_piece is {first_piece} and fitted {fitted}, but there are {n} features")
        if len(idf) != n or not np.isfinite(idf).all():
            raise StoreError(f"idf must have a finite weight for each of {n} features")
        wrong = (features < -1) | (features >= n) | ((features >= first_piece) & (features < fitted))
        if len(features) != len(words) or wrong.any():
            raise StoreError(
                f"words.features must have a number from -1 to {first_piece - 1}, or from {fitted} to {n - 1}, for "
                f"each of {len(words)} words"
            )
        for name, table, count in (("words.table", word_table, len(words)), ("pieces.table", piece_table, n_pieces)):
            _check_extent(name, len(table), native.string_table_extent(table), count - 1)
        largest = first_piece - 1 if fitted == n else n - 1
        _check_extent("grams.table", len(gram_table), native.gram_table_extent(gram_table), largest)
        return cls(
            names=names,
            words=words,
            word_table=word_table,
            word_features=features,
            gram_table=gram_table,
            piece_table=piece_table,
            first_piece=first_piece,
            idf=idf,
            fitted=fitted,
        )


def _aligned(name: str, array: Array) -> Array:
    """Memory maps may begin anywhere; kernels read whole numbers."""
    if not isinstance(array, np.ndarray):
        raise StoreError(f"{name} is not an array")
    return array if array.flags.aligned and array.flags.c_contiguous else np.array(array, order="C")


def _take(arrays: dict[str, Array], name: str, dtype: type, columns: int | None = None) -> Array:
    if name not in arrays:
        raise StoreError(f"array {name!r} is missing")
    array = arrays[name]
    shaped = array.ndim == 1 if columns is None else array.ndim == 2 and array.shape[1] == columns
    if array.dtype != dtype or not shaped:
        raise StoreError(
            f"{name} must be {np.dtype(dtype)} with {columns or 1} column(s); got {array.dtype}{array.shape}"
        )
    return array


def _check_extent(name: str, size: int, extent: tuple[int, int], largest: int) -> None:
    taken, found = extent
    if size < 1 or size & (size - 1) or taken >= size:
        raise StoreError(
            f"{name} must have a power of two of slots, one of them empty; got {size} slots, {taken} taken"
        )
    if found > largest:
        raise StoreError(f"{name} points at number {found}; the largest is {largest}")
