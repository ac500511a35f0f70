"""`Vectorizer`: texts in, sparse tf-idf rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._native import text as native
from ..arrays import Array, Csr, Int32, Int64, StringTable, UInt8, UInt32, as_texts, assemble
from ..core import (
    Configured,
    InputError,
    NotFittedError,
    ParameterError,
    StoreError,
    choice,
    flag,
    integer,
    param,
    progress,
    run,
    thread_count,
)
from ..store import Copyable, State, let_go
from .checks import char_lengths, char_range, rows_or_share, stop_list
from .encoding import Block, blocks, encode, normal_bytes
from .forms import STEMMERS, Forms
from .places import Found, Places
from .spans import Origins
from .stacked import BlockRows, lie_in_files, stack, stack_in_files
from .stop_words import stop_words as listed
from .vocabulary import HASH, Vocabulary

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._native.text import UInt64

FEW, SHORT = 64, 16 << 10  # texts, and characters of them all, that are read at once: without threads or progress
GROUP = 4  # blocks for each thread, of texts that lie in files, that are read together
FROM_FILES = 1 << 20  # bytes of such a block: texts that are decoded take several times as much


class Vectorizer(Configured, Copyable):
    """Word and character n-grams, weighted by tf-idf, as a csr matrix that every model takes without a copy.

    A word is a run of word characters (letters, digits, underscore, and the marks that follow them), and with
    `words="any-script"` also: the pairs of neighbouring characters where a script has no spaces between words (Chinese,
    Japanese, Thai, Lao, Khmer, Burmese …), a character alone where it has no neighbour; "C++", "C#", ".NET" and the
    like; a letter that stands by itself ("vitamin C", but not the t of "don't"). Soft hyphens and zero width
    joiners do not end a word. `words="runs"` leaves it at the runs.

    Texts are compared in normal form C (of more than 30 combining marks in a row, which no script has, the rest is
    taken as it is). Features are sorted by their text, word n-grams first, then character n-grams, so the result
    depends only on the texts: not on threads, nor on their order. With `words="runs"` and the same settings it equals
    scikit-learn's TfidfVectorizer on ASCII text.
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
    words: str = param(
        choice("any-script", "runs"),
        'what is a word: "any-script" cuts scripts without spaces into pairs of characters and knows C++ and single '
        'letters; "runs" takes every run of word characters',
        default="any-script",
        before="runs",
    )
    stem: str | None = param(
        choice(*STEMMERS, or_none=True),
        "count words by their stems, by the rules of this language; needs the extra `stem`",
        default=None,
    )
    stop_words: str | list[str] | None = param(
        stop_list(or_none=True),
        'leave these words out: a language, several as "finnish+english", or a list of words',
        default=None,
    )
    threads: int | None = param(integer(at_least=1, or_none=True), "None: all cores", default=None, role="machine")

    _vocabulary: Vocabulary | None = None
    _known_forms: tuple[object, Forms] | None = None
    _known_reading: tuple[object, _Reading] | None = None  # for one text it takes as long to make as to be used

    def fit(self, texts: Iterable[str], y: Any = None) -> Self:
        """Learn the vocabulary and its weights; `y` is what pipelines of scikit-learn pass on, and plays no part."""
        self._fit(as_texts(texts), keep_rows=False)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> Csr:
        """`fit(texts).transform(texts)`, reading the texts once."""
        texts = as_texts(texts)
        if lie_in_files(texts):  # what was counted would be as large as the rows
            return self.fit(texts).transform(texts)
        counted = self._fit(texts, keep_rows=True)
        vocabulary, settings = self._fitted(), self._settings(None)

        def weigh(block: _Counted) -> BlockRows:
            return native.weigh(
                block.offsets, block.counts, block.gram_features, block.piece_features, vocabulary.idf, settings
            )

        return stack(run(weigh, counted, threads=self.threads), self.n_features)

    @property
    def drops_features(self) -> bool:
        """True if what is a feature depends on how many texts have it."""
        return not (self.min_df == 1 and isinstance(self.min_df, int)) or not (
            self.max_df == 1 and isinstance(self.max_df, float)
        )

    def grown(self, texts: Sequence[str], n_rows: int, others: Sequence[str] = ()) -> Vectorizer:
        """Another one that knows the n-grams of these texts too, as further columns; this one if there are none.

        All that is known keeps its column and weight. What is new weighs as if it had been learned from `n_rows` texts
        of which only these have it. Where `drops_features`, `others` (all other texts) are counted too, to judge what
        is to be dropped. With `max_features` none are added.
        """
        known, reading = self._fitted(), self._reading()
        if self.max_features is not None:
            return self
        every = [*texts, *others] if self.drops_features else texts
        counter = self._counted(reading, every, keep_rows=False)[0]
        built = native.grow(known.native, counter, _rows(self.min_df, n_rows), _rows(self.max_df, n_rows))
        return self if not len(built["rows"]) else self._with(known.grown(built, n_rows))

    def without_features(self, gone: Int64) -> Vectorizer:
        """Another one that never finds some features again, and holds nothing of their texts; columns stay."""
        flags = np.zeros(self.n_features, np.uint8)
        flags[gone] = 1
        return self._with(self._fitted().without(flags))

    def _with(self, vocabulary: Vocabulary) -> Vectorizer:
        other = copy(self)
        other._vocabulary = vocabulary
        return other

    def transform(self, texts: Iterable[str]) -> Csr:
        """One row of feature weights per text; n-grams that are not known are ignored. Of the texts of an opened data
        folder the rows lie in files too."""
        vocabulary, reading = self._fitted(), self._reading()
        texts = as_texts(texts)

        def read(block: Block) -> BlockRows:
            encoded = reading.known(*encode(texts[block.begin : block.end]))
            return vocabulary.native.transform(*encoded, reading.settings)

        if lie_in_files(texts):
            return stack_in_files(self._groups(read, texts, "vectorising"), self.n_features)
        if len(texts) <= FEW and sum(map(len, texts)) <= SHORT:
            return stack([read(Block(0, len(texts), 0))] if texts else [], self.n_features)
        return stack(self._run(read, texts, "vectorising"), self.n_features)

    def transform_one(self, text: str) -> Csr:
        """`transform([text])` without its overhead."""
        vocabulary = self._fitted()
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__}")
        _, blob = normal_bytes(text)
        reading = self._reading()
        reading.known_one(blob)
        offsets, ids, values = vocabulary.native.transform_one(blob, reading.settings)
        return assemble(values, ids, offsets.astype(np.int32), (1, len(vocabulary.names)))

    def explain(self, text: str) -> Places:
        """Where features are: (start, end, features) for each span `text[start:end]` that is one, in order."""
        vocabulary, reading = self._fitted(), self._reading()
        if not isinstance(text, str):
            raise InputError(f"text must be a string; got {type(text).__name__}")
        normal, blob = normal_bytes(text)
        reading.known_one(blob)
        origins = None if normal is text else Origins(text, normal)

        def find(wanted: UInt8) -> Found:
            begins, ends, features = vocabulary.native.explain(blob, reading.settings, wanted)
            return (begins, ends, features) if origins is None else (*origins(begins, ends), features)

        return Places(find, len(vocabulary.names), vocabulary.is_piece)

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._vocabulary is not None

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._fitted().names)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """`feature_names` as scikit-learn asks for them."""
        return np.array(list(self.feature_names), dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know of a step of its pipelines (from 1.6 on); nobody else asks."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(string=True, two_d_array=False),
            requires_fit=True,
        )

    @property
    def feature_names(self) -> StringTable:
        """The text of every column."""
        return self._fitted().names

    def to_state(self) -> State:
        """The vocabulary's arrays, as they are."""
        vocabulary = self._fitted()
        meta = {"hash": HASH, "first_piece": vocabulary.first_piece}
        if vocabulary.fitted < len(vocabulary.names):
            meta["fitted"] = vocabulary.fitted
        return State(meta, vocabulary.to_arrays())

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """A fitted vectoriser on the given arrays (memory maps will do)."""
        if state.meta.get("hash") != HASH:
            raise StoreError(
                f"the vectoriser's tables are of kind {state.meta.get('hash')!r}; this version reads {HASH}"
            )
        first_piece, fitted = state.meta.get("first_piece"), state.meta.get("fitted")
        if not isinstance(first_piece, int) or isinstance(first_piece, bool) or first_piece < 0:
            raise StoreError(f"first_piece must be an integer ≥ 0; got {first_piece!r}")
        if fitted is not None and (not isinstance(fitted, int) or isinstance(fitted, bool)):
            raise StoreError(f"fitted must be a number of features; got {fitted!r:.40}")
        try:
            out = cls(**cls.params_from_json(params))
        except ParameterError as error:
            raise StoreError(f"the vectoriser's parameters are not valid: {error}") from None
        out._vocabulary = Vocabulary.from_arrays(state.arrays, first_piece, fitted)
        return out

    def _fitted(self) -> Vocabulary:
        if self._vocabulary is None:
            raise NotFittedError("this Vectorizer is not fitted yet; call fit first, or xt.load a saved one")
        return self._vocabulary

    def _reading(self) -> _Reading:
        """How texts are read, with all that is known of words' forms."""
        if self.stem is None and self.stop_words is None:
            by = (
                self.ngrams, self.char_ngrams, self.min_token_length, self.lowercase, self.fold_accents,
                self.sublinear_tf, self.idf, self.normalize, self.words,
            )  # fmt: skip
            known = self._known_reading
            if known is None or known[0] != by:
                known = by, _Reading(self._settings(None), None, None)
                if self.fitted:  # before that it may be pickled as it is
                    self._known_reading = known
            return known[1]
        if self.stem is not None and (self.fold_accents or not self.lowercase):
            wrong = "fold_accents=True" if self.fold_accents else "lowercase=False"
            raise ParameterError(f"stem={self.stem!r} does not go with {wrong}: the rules are for words as they are "
                                 "written, in lower case")  # fmt: skip
        key = (self.stem, repr(self.stop_words), self.lowercase, self.fold_accents, self.words)
        if self._known_forms is None or self._known_forms[0] != key:
            self._known_forms = key, Forms(self.stem, self._stopped())
        forms = self._known_forms[1]
        table = forms.table()
        return _Reading(self._settings(table), forms, table)

    def _stopped(self) -> list[str]:
        """Stop words as texts have them: in normal form, rewritten and cut."""
        if self.stop_words is None:
            return []
        given = self.stop_words
        words = [w for part in given.split("+") for w in listed(part)] if isinstance(given, str) else list(given)
        found = native.Forms().unknown(*encode(words), self._settings(None, min_points=1))
        return list(StringTable(*found))

    def _settings(self, forms: native.Forms | None, *, min_points: int | None = None) -> native.Settings:
        shortest, longest = char_lengths(self.char_ngrams)
        if self.ngrams == 0 and shortest == 0:
            raise ParameterError("ngrams=0 leaves no features; set char_ngrams, or ngrams to 1 or more")
        return native.Settings(
            ngrams=int(self.ngrams),
            char_shortest=shortest,
            char_longest=longest,
            min_points=int(self.min_token_length) if min_points is None else min_points,
            lowercase=self.lowercase,
            fold_accents=self.fold_accents,
            sublinear_tf=self.sublinear_tf,
            idf=self.idf,
            normalize=self.normalize,
            any_script=self.words == "any-script",
            forms=forms,
        )

    def _run(self, function: Any, texts: Sequence[str], title: str) -> list[Any]:
        """`function` on every block of texts, on all threads, with progress in characters."""
        return [found for group in self._groups(function, texts, title) for found in group]

    def _groups(self, function: Any, texts: Sequence[str], title: str) -> Iterator[list[Any]]:
        """The same, some blocks at a time if the texts lie in files: so many of their pages are in memory."""
        threads = thread_count(self.threads)
        in_files = lie_in_files(texts)
        tasks = blocks(texts, threads, FROM_FILES) if in_files else blocks(texts, threads)
        step = GROUP * threads if in_files else max(1, len(tasks))
        with progress.step(title, total=sum(block.size for block in tasks), unit="chars") as advance:
            for first in range(0, len(tasks), step):
                some = tasks[first : first + step]
                sizes = [block.size for block in some]
                yield run(function, some, threads=self.threads, done=partial(_advanced, advance, sizes))
                if len(some) < len(tasks):
                    let_go()

    def _fit(self, texts: Sequence[str], *, keep_rows: bool) -> list[_Counted]:
        reading = self._reading()
        if not texts:
            raise InputError("there are no texts to learn from")
        least, most = _rows(self.min_df, len(texts)), _rows(self.max_df, len(texts))
        if least > most:
            raise ParameterError(f"min_df={self.min_df!r} is more than max_df={self.max_df!r} of {len(texts)} texts")
        total, renumberings, counted = self._counted(reading, texts, keep_rows=keep_rows)
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

    def _counted(
        self, reading: _Reading, texts: Sequence[str], *, keep_rows: bool
    ) -> tuple[native.Counter, list[tuple[UInt32, UInt32]], list[tuple[int, Int64, UInt64]]]:
        """A counter of all, how those of other threads were numbered, and each block's rows with its counter."""
        # As many counters as threads: each takes whichever block comes next, so that there are few to merge at the end.
        counters = [native.Counter(reading.settings) for _ in range(thread_count(self.threads))]
        idle: SimpleQueue[int] = SimpleQueue()
        for number in range(len(counters)):
            idle.put(number)

        def count(block: Block) -> tuple[int, Int64, UInt64]:
            encoded = reading.known(*encode(texts[block.begin : block.end]))
            number = idle.get()
            try:
                return (number, *counters[number].add(*encoded, keep_rows))
            finally:
                idle.put(number)

        counted = self._run(count, texts, "counting words")
        total, *others = counters
        return total, [total.merge(other) for other in others], counted


class _Reading(NamedTuple):
    """Settings, and the table in them of what words become, if they become something."""

    settings: native.Settings
    forms: Forms | None
    table: native.Forms | None

    def known(self, blob: bytes, offsets: Int64) -> tuple[bytes, Int64]:
        """The same texts, when what their words become is known."""
        if self.forms is not None and self.table is not None:
            self.forms.learn(self.table, blob, offsets, self.settings)
        return blob, offsets

    def known_one(self, blob: bytes) -> None:
        """Of one text."""
        if self.forms is not None:
            self.known(blob, np.array([0, len(blob)], np.int64))


class _Counted:
    """A block's rows by its counter's numbers, and the feature that each number became."""

    __slots__ = ("counts", "gram_features", "offsets", "piece_features")

    def __init__(self, offsets: Int64, counts: UInt64, gram_features: Int32, piece_features: Int32) -> None:
        self.offsets, self.counts = offsets, counts
        self.gram_features, self.piece_features = gram_features, piece_features


def _advanced(advance: progress.Advance, sizes: list[int], i: int) -> None:
    advance(sizes[i])


def _rows(limit: int | float, n: int) -> float:
    """A number of texts, from a number or a share."""
    return float(limit * n if isinstance(limit, float) else limit)
