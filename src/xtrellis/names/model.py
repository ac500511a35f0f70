"""`NameMatcher`: a label's own name in the text speaks for it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from ..arrays import Csr, Int64, TopK, as_labels, as_pairs, as_texts, assemble, for_scipy, is_list
from ..core import Engine, InputError, StoreError, choice, flag, integer, number, param, progress, run, thread_count
from ..data import LabelKnowledge, TrainingData
from ..explain import Explanation
from ..model import Estimate, Model, check_k, check_label, check_label_ids, label_mask
from ..store import State
from ..text import STEMMERS, Block, WordReader, blocks
from .explain import explain
from .index import NameIndex
from .scorer import NameScorer
from .training import build_index, count_words, train_scorer
from .updating import HowFound, learned_on

if TYPE_CHECKING:
    from typing_extensions import Self

NO_OFFSETS, NO_IDS = np.zeros(0, np.int64), np.zeros(0, np.int32)


class NameMatcher(Model):
    """Finds labels by their names in the text: whole, inflected, or in part.

    What a match is worth is learned on training rows: how much of the name was found and how, how many labels share it,
    where and how often the text has it, and how often the label was right where its name was found. Labels that no row
    has are found by their names all the same. Where a Tagger has a vocabulary, all names of a label count. Scores are
    probabilities; a label whose name is not found scores 0. It reads texts and needs `label_names`; features play no
    part, and `X` may be None.
    """

    needs_labels = True
    needs_label_names = True
    _learned = "_index"

    stem: str | None = param(
        choice(*STEMMERS, or_none=True),
        "compare words by their stems, by the rules of this language; needs the extra `stem`",
        default=None,
    )
    fold_accents: bool = param(flag(), "ignore accents and compatibility forms (é as e, ﬁ as fi)", default=False)
    partial: float = param(
        number(above=0, at_most=1),
        "share of a name's weight that must be found (rare words weigh more); 1 for whole names only",
        default=0.3,
    )
    likeness: float = param(
        number(at_least=0.5, at_most=1),
        "how like a word must be to a name's to count as found: the share of it that both begin with; 1 for equal "
        "words only",
        default=0.7,
    )
    opening: int | None = param(
        integer(at_least=1, or_none=True),
        "read only so many characters of a text, up to the end of a word: what stands in its title; None for all",
        default=None,
    )

    _index: NameIndex | None = None
    _scorer: NameScorer | None = None
    _counted: int = 0  # rows that words were counted in, the first ones, if it has learned on since
    _made_from: tuple[int, int] | None = None  # so many rows of so many characters are what names are known by
    _words: tuple[tuple[int, int], Counter[str]] | None = None  # of the last update: the next one needs them too
    _names: Sequence[Sequence[str]] | None = None  # given to `fit`, while it runs
    _reads: tuple[object, WordReader] | None = None

    def fit(
        self,
        X: Any,
        Y: Any = None,
        *,
        texts: Sequence[str] | None = None,
        label_names: Iterable[str] | None = None,
        names: Sequence[Sequence[str]] | None = None,
        label_features: Any = None,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Engine | None = None,
    ) -> Self:
        """Learn from texts and labels what it means that a text has a label's name.

        `label_names` (L) are the names; `names` (L lists of names) are used instead, if labels have several each. There
        may be more of these than Y has columns: the model then knows as many labels as have names. `X` may be None.
        """
        if X is None and texts is not None:
            X = csr_array((len(as_texts(texts)), 0), dtype=np.float32)
        self._names = None if names is None else _checked_names(names)
        try:
            return super().fit(
                X, Y, texts=texts, label_names=label_names, label_features=label_features,
                sample_weight=sample_weight, checkpoint=checkpoint, engine=engine,
            )  # fmt: skip
        finally:
            self._names = None

    @property
    def reads_texts(self) -> bool:
        """True: a name is looked for in the text."""
        return True

    @property
    def may_deny(self) -> bool:
        """True of openings: what a page is called by, it is itself, and no answer where pages are to be linked."""
        return self.opening is not None

    @property
    def witness(self) -> str:
        """Told apart from another one that reads whole texts."""
        return "NameMatcher" if self.opening is None else "NameMatcher (title)"

    def finds_something(self, texts: Sequence[str]) -> list[bool]:
        """Whether there is a name, or a part of one, in each text."""
        found: list[bool] = (self.predict(None, 1, texts=texts).labels[:, 0] >= 0).tolist()
        return found

    @property
    def index(self) -> NameIndex:
        """The names as they are looked for."""
        self._require_fitted()
        if self._index is None:
            raise RuntimeError("a fitted model has an index")
        return self._index

    @property
    def scorer(self) -> NameScorer:
        """What matches are worth."""
        self._require_fitted()
        if self._scorer is None:
            raise RuntimeError("a fitted model has a scorer")
        return self._scorer

    @property
    def n_labels(self) -> int:
        """How many labels have names."""
        return self.index.n_labels

    def _reader(self) -> WordReader:
        key = self.stem, self.fold_accents
        if self._reads is None or self._reads[0] != key:
            self._reads = key, WordReader(stem=self.stem, fold_accents=self.fold_accents)
        return self._reads[1]

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        names: Sequence[Sequence[str]]
        if self._names is not None:
            names = self._names
        elif data.known is not None:
            names = _all_names(data.known)
        elif data.label_names is not None:
            names = [(name,) for name in data.label_names]
        else:
            raise InputError("a NameMatcher finds labels by their names; pass label_names=[…], one for each label")
        if len(names) < data.n_labels:
            raise InputError(f"names must be lists of names, one for each of {data.n_labels} labels; got {len(names)}")
        if data.texts is None:
            raise RuntimeError("fit has asked for texts")
        texts, reader, Y = data.texts, self._reader(), data.Y
        if len(names) > data.n_labels:
            Y = assemble(Y.data, Y.indices, Y.indptr, (data.n_rows, len(names)))
        rows = np.bincount(Y.indices, minlength=len(names)).astype(np.int64)

        def build() -> NameIndex:
            return build_index(
                names, reader, texts, rows, partial=float(self.partial), likeness=_least(self.likeness),
                threads=self.threads,
            )  # fmt: skip

        # How rare words are is told by whole texts, also where only their first words are read: so a matcher of titles
        # has the same index as one of texts, and finds it made.
        how = "names", self.stem, self.fold_accents, self.partial, self.likeness
        index = build() if self._names is not None else data.once(how, build)
        if not index.n_forms:
            progress.note("no label name has a word with a letter: a NameMatcher finds none of them in texts")
        scorer = train_scorer(index, reader, self._read(texts), Y, seed=self.seed, threads=self.threads)
        self._index, self._scorer, self._counted, self._words = index, scorer, 0, None
        self._made_from = data.n_rows, sum(map(len, data.texts))

    def _estimate(self, data: TrainingData) -> Estimate:
        """Some hundred bytes a name; the sample that curves are learned from is the most that training takes."""
        names = 0 if data.label_names is None else len(data.label_names.text)
        model_bytes = 8 * names + 150 * data.n_labels
        return Estimate.of(data, training_bytes=200_000_000 + 3 * model_bytes, model_bytes=model_bytes)

    def updated(self, data: TrainingData, fresh: Int64, again: Int64, checkpoint: Path | None = None) -> Self:
        """See `Updates`: new labels' names are looked for in all rows, those of others in the fresh ones; curves stay.

        How much a word of a name weighs is told by the rows that the model was trained on, as before: so matches of
        other names keep their scores.
        """
        texts, known_names = data.texts, data.label_names
        if texts is None or known_names is None:
            raise InputError("a NameMatcher learns from texts and label names; the data has none")
        if data.known is None and len(self.index.names) != self.index.n_labels:
            raise InputError("this NameMatcher knows several names a label and cannot learn on: train it again")
        names = [(name,) for name in known_names] if data.known is None else _all_names(data.known)
        counted = self._counted or data.n_rows - len(fresh)
        first = texts[:counted]
        made_from = counted, sum(map(len, first))  # the rows are the same, unless some were forgotten
        kept = self._words if self._words is not None and self._words[0] == made_from else None

        def words() -> Counter[str]:
            nonlocal kept
            if kept is None:
                kept = made_from, count_words(self._reader(), first, self.threads)
            return kept[1]

        how = HowFound(self._reader(), float(self.partial), _least(self.likeness), counted, words, self.threads)
        before = self.index if self._made_from == made_from else None
        index, scorer = learned_on(self.scorer, before, names, data, fresh, again, how, self._read)
        other = self.clone().set_params(threads=self.threads)
        vars(other).update(
            _index=index,
            _scorer=scorer,
            _counted=counted,
            _words=kept,
            _made_from=made_from,
            _trained_with=self._trained_with,
        )
        return other

    def predict(
        self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None, leave_out: Any = None, labels: Any = None
    ) -> TopK:
        """The k best labels of each row, of those whose names its text has; rows with fewer end with -1.

        `labels` (ids) restricts the answers to some. `leave_out` (n×L, as Y) are the labels of these rows if they are
        training rows: each is then scored as if it had not been counted in training, so that who learns from the scores
        is not misled by them.
        """
        texts, k = self._texts(X, texts), check_k(k)
        return self._best(self.scorer, texts, k, self._left_out(leave_out, len(texts)), labels)

    def _best(self, scorer: NameScorer, texts: Sequence[str], k: int, left: Csr | None, labels: Any = None) -> TopK:
        index, reader = self.index, self._reader()
        wanted = None if labels is None else check_label_ids(labels, index.n_labels)
        k = min(k, index.n_labels if wanted is None else len(wanted))
        found, scores = np.empty((len(texts), k), np.int32), np.empty((len(texts), k), np.float32)
        allowed = label_mask(wanted, index.n_labels)

        def part(block: Block) -> None:
            rows = slice(block.begin, block.end)
            encoded = reader.read(texts[rows])
            index.native.best(*encoded, scorer.native, *_rows_of(left, block), allowed, found[rows], scores[rows])

        self._run(part, texts)
        return TopK(found, scores, index.n_labels)

    def left_out(self, data: TrainingData, rows: Int64, k: int) -> TopK:
        """See `LeavesOut`: training rows are scored without what they added themselves."""
        some = data.select(rows)
        return self.predict(some.X, k, texts=some.texts, leave_out=some.Y)

    def unseen(self, data: TrainingData, k: int) -> TopK:
        """See `KnowsUnseen`: names are worth what those of labels without rows are."""
        return self._best(self.scorer.of_unseen, self._texts(data.X, data.texts), check_k(k), None)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None, leave_out: Any = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score.

        What `predict` gives; 0 where the text does not have the name. `leave_out` as there.
        """
        index, scorer = self.index, self.scorer
        texts = self._texts(X, texts)
        wanted = as_pairs(labels, n_rows=len(texts), n_labels=index.n_labels)
        scores = np.empty(wanted.nnz, np.float32)
        left, reader = self._left_out(leave_out, len(texts)), self._reader()

        def part(block: Block) -> None:
            encoded = reader.read(texts[block.begin : block.end])
            offsets, ids = _rows_of(wanted, block)
            span = slice(int(wanted.indptr[block.begin]), int(wanted.indptr[block.end]))
            index.native.given(*encoded, scorer.native, *_rows_of(left, block), offsets, ids, scores[span])

        self._run(part, texts)
        return for_scipy(assemble(scores, wanted.indices, wanted.indptr, wanted.shape))

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why a text gets the label with this id: its name, where it was found, and what each feature of that added.

        `texts` is a list of the one text; `x` plays no part.
        """
        self._require_fitted()
        label, _ = check_label(label, label_counts, self.n_labels)
        given = self._texts(None, texts)
        if len(given) != 1:
            raise InputError(f"texts must be a list of one text; got {len(given)}")
        return explain(self, self._reader(), given[0], label)

    def _texts(self, X: Any, texts: Any) -> Sequence[str]:
        """One for each row of X, if there is an X."""
        if texts is None:
            raise InputError("a NameMatcher reads texts; pass texts=[…], one per row")
        shape = getattr(X, "shape", None)
        n_rows = int(shape[0]) if isinstance(shape, tuple) and shape else None
        return self._read(as_texts(texts, n_rows=n_rows))

    def _read(self, texts: Sequence[str]) -> Sequence[str]:
        """What is read of texts."""
        return texts if self.opening is None else [_opening(text, self.opening) for text in texts]

    def _left_out(self, leave_out: Any, n_rows: int) -> Csr | None:
        if leave_out is None:
            return None
        labels = as_labels(leave_out, n_labels=None, name="leave_out")
        if labels.shape[0] != n_rows or labels.shape[1] > self.n_labels:
            raise InputError(
                f"leave_out must be the labels of these {n_rows} rows, among {self.n_labels}; got "
                f"{labels.shape[0]}×{labels.shape[1]}"
            )
        return labels

    def _run(self, part: Any, texts: Sequence[str]) -> None:
        tasks = blocks(texts, thread_count(self.threads))
        if len(tasks) < 2:
            for block in tasks:
                part(block)
            return
        with progress.step("looking for names", total=sum(block.size for block in tasks), unit="chars") as advance:
            run(part, tasks, threads=self.threads, done=lambda i: advance(tasks[i].size))

    def _to_state(self) -> State:
        arrays = {**self.index.to_arrays(), **self.scorer.to_arrays()}
        counted: dict[str, Any] = {"counted": self._counted} if self._counted else {}
        if self._made_from is not None:
            counted["made_from"] = list(self._made_from)
        return State(meta={"n_labels": self.n_labels, **counted}, arrays=arrays)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        out, n_labels = cls(**params), state.meta.get("n_labels")
        if isinstance(n_labels, bool) or not isinstance(n_labels, int) or not 0 < n_labels < 2**31:
            raise StoreError(f"n_labels must be an integer from 1 to {2**31 - 1}; got {n_labels!r:.40}")
        counted = state.meta.get("counted", 0)
        if isinstance(counted, bool) or not isinstance(counted, int) or not 0 <= counted < 2**31:
            raise StoreError(f"counted must be a number of rows; got {counted!r:.40}")
        out._counted = counted
        made_from = state.meta.get("made_from")
        if made_from is not None:
            if not isinstance(made_from, list) or [type(n) for n in made_from] != [int, int] or min(made_from) < 0:
                raise StoreError(f"made_from must be two numbers, rows and characters; got {made_from!r:.40}")
            out._made_from = made_from[0], made_from[1]
        out._index = NameIndex.from_arrays(
            state.arrays, n_labels=n_labels, partial=float(out.partial), likeness=_least(out.likeness)
        )
        out._scorer = NameScorer.from_arrays(state.arrays, n_labels)
        return out


def _opening(text: str, most: int) -> str:
    """The first words of a text, of so many characters together; if the first is longer, its beginning."""
    if len(text) <= most or text[most].isspace():
        return text[:most]
    words = text[:most].rsplit(None, 1)
    return words[0] if len(words) == 2 else text[:most]


def _all_names(known: LabelKnowledge) -> list[Sequence[str]]:
    """Of every label, as a vocabulary has them."""
    return [known.names_of(label) for label in range(len(known))]


def _least(likeness: float) -> float:
    """For the kernel: 1 means that words must be equal, so nothing is like another."""
    return 2.0 if likeness >= 1 else float(likeness)


def _rows_of(matrix: Csr | None, block: Block) -> tuple[Any, Any]:
    """Offsets and ids of some rows, for the kernel."""
    if matrix is None:
        return NO_OFFSETS, NO_IDS
    offsets = matrix.indptr[block.begin : block.end + 1]
    return offsets - offsets[0], matrix.indices[offsets[0] : offsets[-1]]


def _checked_names(names: Any) -> list[tuple[str, ...]]:
    """A list of names for each label, or one name."""
    if not is_list(names):
        raise InputError(f"names must be a list of lists of names, one for each label; got {type(names).__name__}")
    out = []
    for i, of_label in enumerate(names):
        given = (of_label,) if isinstance(of_label, str) else tuple(of_label) if is_list(of_label) else None
        if given is None or not all(isinstance(name, str) for name in given):
            raise InputError(f"names must be lists of names, one for each label; names[{i}] is {of_label!r:.60}")
        out.append(given)
    return out
