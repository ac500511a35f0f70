"""`Vectorizer`: texts in, sparse tf-idf rows out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from .._native import text as native
from ..arrays import Csr, Float32, Int32, Int64, StringTable, as_texts, assemble, for_scipy
from ..core import (
    Configured,
    InputError,
    NotFittedError,
    ParameterError,
    StoreError,
    flag,
    integer,
    param,
    progress,
    run,
    thread_count,
)
from ..store import State, Storable
from .checks import char_lengths, char_range, rows_or_share
from .encoding import Block, blocks, encode, encode_one, normal_form
from .spans import origins
from .vocabulary import HASH, Vocabulary

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native.text import UInt64

_Rows = tuple[Int64, Int32, Float32]


class Vectorizer(Configured, Storable):
    """Word and character n-grams, weighted by tf-idf, as a csr matrix that every model takes without a copy.

    A word is a run of word characters (letters, digits, underscore, and the marks that follow them); texts are compared
    in normal form C. Features are sorted by their text, word n-grams first, then character n-grams, so the result
    depends only on the texts: not on threads, nor on their order. With the same settings it equals scikit-learn's
    TfidfVectorizer on ASCII text.
    """

    ngrams: int = param(integer(at_least=0, at_most=16), "longest word n-gram; 0 for none", default=1)
    char_ngrams: str | None = param(char_range(or_none=True), 'lengths of character n-grams, as "3-5"', default=None)
    lowercase: bool = param(flag(), "ignore case", default=True)
    fold_accents: bool = param(flag(), "ignore accents and compatibility forms (é as e, ﬁ as fi)", default=False)
    min_df: int | float = param(rows_or_share(), "drop features of fewer texts (count, or share as float)", default=1)
    max_df: int | float = param(rows_or_share(), "drop features of more texts (count, or share as float)", default=1.0)
    max_features: int | None = param(
        integer(at_least=1, or_none=True), "keep the most frequent ones only", default=None
    )
    sublinear_tf: bool = param(flag(), "count n occurrences as 1 + ln(n)", default=False)
    idf: bool = param(flag(), "weigh a feature by ln((1 + texts) / (1 + texts that have it)) + 1", default=True)
    normalize: bool = param(flag(), "make every row of unit length", default=True)
    min_token_length: int = param(integer(at_least=1), "drop words of fewer characters", default=2)
    threads: int | None = param(integer(at_least=1, or_none=True), "None: all cores", default=None, role="machine")

    _vocabulary: Vocabulary | None = None

    def fit(self, texts: Iterable[str]) -> Self:
        """Learn the vocabulary and its weights."""
        self._fit(as_texts(texts), keep_rows=False)
        return self

    def fit_transform(self, texts: Iterable[str]) -> Csr:
        """`fit(texts).transform(texts)`, reading the texts once."""
        counted = self._fit(as_texts(texts), keep_rows=True)
        vocabulary, settings = self._fitted(), self._settings()

        def weigh(block: _Counted) -> _Rows:
            return native.weigh(
                block.offsets, block.counts, block.gram_features, block.piece_features, vocabulary.idf, settings
            )

        return self._stack(run(weigh, counted, threads=self.threads))

    def transform(self, texts: Iterable[str]) -> Csr:
        """One row of feature weights per text; n-grams not seen in `fit` are ignored."""
        vocabulary, settings = self._fitted(), self._settings()
        texts = as_texts(texts)

        def read(block: Block) -> _Rows:
            return vocabulary.native.transform(*encode(texts[block.begin : block.end]), settings)

        return self._stack(self._run(read, texts, "vectorising"))

    def transform_one(self, text: str) -> Csr:
        """`transform([text])` without its overhead."""
        vocabulary = self._fitted()
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__}")
        blob = encode_one(normal_form(text))
        offsets, ids, values = vocabulary.native.transform_one(blob, self._settings())
        return for_scipy(assemble(values, ids, offsets, (1, self.n_features)))

    def explain(self, text: str) -> list[tuple[int, int, tuple[int, ...]]]:
        """Where features are: (start, end, features) for each span `text[start:end]` that is one, in order."""
        vocabulary = self._fitted()
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__}")
        normal = normal_form(text)
        found: dict[tuple[int, int], list[int]] = {}
        places = vocabulary.native.explain(encode_one(normal), self._settings())
        origin = None if normal == text else origins(text)
        for begin, end, feature in places:
            found.setdefault((begin, end) if origin is None else origin(begin, end), []).append(feature)
        return [(*span, tuple(features)) for span, features in sorted(found.items())]

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._vocabulary is not None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._fitted().names)

    @property
    def feature_names(self) -> StringTable:
        """The text of every column."""
        return self._fitted().names

    def to_state(self) -> State:
        """The vocabulary's arrays, as they are."""
        vocabulary = self._fitted()
        return State({"hash": HASH, "first_piece": vocabulary.first_piece}, vocabulary.to_arrays())

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """A fitted vectoriser on the given arrays (memory maps will do)."""
        if state.meta.get("hash") != HASH:
            raise StoreError(
                f"the vectoriser's tables are of kind {state.meta.get('hash')!r}; this version reads {HASH}"
            )
        first_piece = state.meta.get("first_piece")
        if not isinstance(first_piece, int) or isinstance(first_piece, bool) or first_piece < 0:
            raise StoreError(f"first_piece must be an integer ≥ 0; got {first_piece!r}")
        try:
            out = cls(**cls.params_from_json(params))
        except ParameterError as error:
            raise StoreError(f"the vectoriser's parameters are not valid: {error}") from None
        out._vocabulary = Vocabulary.from_arrays(state.arrays, first_piece)
        return out

    def _fitted(self) -> Vocabulary:
        if self._vocabulary is None:
            raise NotFittedError("this Vectorizer is not fitted yet; call fit first, or xt.load a saved one")
        return self._vocabulary

    def _settings(self) -> native.Settings:
        shortest, longest = char_lengths(self.char_ngrams)
        if self.ngrams == 0 and shortest == 0:
            raise ParameterError("ngrams=0 leaves no features; set char_ngrams, or ngrams to 1 or more")
        return native.Settings(
            ngrams=int(self.ngrams),
            char_shortest=shortest,
            char_longest=longest,
            min_points=int(self.min_token_length),
            lowercase=self.lowercase,
            fold_accents=self.fold_accents,
            sublinear_tf=self.sublinear_tf,
            idf=self.idf,
            normalize=self.normalize,
        )

    def _run(self, function: Any, texts: Sequence[str], title: str) -> list[Any]:
        """`function` on every block of texts, on all threads, with progress in characters."""
        tasks = blocks(texts, thread_count(self.threads))
        with progress.step(title, total=sum(block.size for block in tasks), unit="chars") as advance:
            return run(function, tasks, threads=self.threads, done=lambda i: advance(tasks[i].size))

    def _fit(self, texts: Sequence[str], *, keep_rows: bool) -> list[_Counted]:
        settings = self._settings()
        if not texts:
            raise InputError("there are no texts to learn from")
        least, most = _rows(self.min_df, len(texts)), _rows(self.max_df, len(texts))
        if least > most:
            raise ParameterError(f"min_df={self.min_df!r} is more than max_df={self.max_df!r} of {len(texts)} texts")
        # As many counters as threads: each takes whichever block comes next, so that there are few to merge at the end.
        counters = [native.Counter(settings) for _ in range(thread_count(self.threads))]
        idle: SimpleQueue[int] = SimpleQueue()
        for number in range(len(counters)):
            idle.put(number)

        def count(block: Block) -> tuple[int, Int64, UInt64]:
            number = idle.get()
            try:
                return (number, *counters[number].add(*encode(texts[block.begin : block.end]), keep_rows))
            finally:
                idle.put(number)

        counted = self._run(count, texts, "counting words")
        total, *others = counters
        renumberings = [total.merge(other) for other in others]
        limit = 2**64 - 1 if self.max_features is None else int(self.max_features)
        built = total.build(least, most, limit)
        if not len(built["rows"]):
            raise InputError(
                f"no features are left of {len(texts)} texts: they have no words, or min_df={self.min_df!r} and "
                f"max_df={self.max_df!r} drop all of them"
            )
        self._vocabulary = Vocabulary.from_built(built, len(texts))
        features = [(built["gram_features"], built["piece_features"])]
        features += [(features[0][0][grams], features[0][1][pieces]) for grams, pieces in renumberings]
        return [_Counted(offsets, counts, *features[number]) for number, offsets, counts in counted]

    def _stack(self, blocks: list[_Rows]) -> Csr:
        """Blocks of rows, one below the other; each is freed as soon as it is copied."""
        n_features = self.n_features
        if len(blocks) == 1:
            offsets, ids, values = blocks[0]
            return for_scipy(assemble(values, ids, offsets, (len(offsets) - 1, n_features)))
        rows, nnz = sum(len(b[0]) - 1 for b in blocks), sum(len(b[1]) for b in blocks)
        indptr, indices, data = np.zeros(rows + 1, np.int64), np.empty(nnz, np.int32), np.empty(nnz, np.float32)
        row = at = 0
        blocks.reverse()
        while blocks:
            offsets, ids, values = blocks.pop()
            indptr[row : row + len(offsets)] = offsets + at
            indices[at : at + len(ids)], data[at : at + len(ids)] = ids, values
            row, at = row + len(offsets) - 1, at + len(ids)
        return for_scipy(assemble(data, indices, indptr, (rows, n_features)))


class _Counted:
    """A block's rows by its counter's numbers, and the feature that each number became."""

    __slots__ = ("counts", "gram_features", "offsets", "piece_features")

    def __init__(self, offsets: Int64, counts: UInt64, gram_features: Int32, piece_features: Int32) -> None:
        self.offsets, self.counts = offsets, counts
        self.gram_features, self.piece_features = gram_features, piece_features


def _rows(limit: int | float, n: int) -> float:
    """A number of texts, from a number or a share."""
    return float(limit * n if isinstance(limit, float) else limit)
