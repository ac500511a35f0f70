"""From training rows to an index of names and what their matches are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from .._native import names as native
from ..arrays import Array, Csr, Int32, Int64, StringTable
from ..core import each, generator, progress, thread_count
from ..text import Block, WordReader, blocks
from .curves import Curves, learn
from .features import FEATURES, KINDS, N_FORM
from .index import NameIndex
from .parse import parse
from .scorer import NameScorer, features_of

MOST_PAIRS = 200_000  # matches of each kind that the curves are learned from, of these
MOST_WRONG = 40_000  # wrong ones: right ones are rare, and tell more
HIDDEN = 0.2  # share of labels that the curves see as if no row had them, to learn what such matches are worth
FEWEST = 30  # right matches (and wrong ones) that curves are learned from

T = TypeVar("T")


class Found(NamedTuple):
    """Matches of some rows: where each row's begin, and of each its label, form, kind and features."""

    offsets: Int64
    labels: Array
    forms: Array
    kinds: Array
    features: Array

    @property
    def rows(self) -> Array:
        """The row of each match."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def find(index: NameIndex, reader: WordReader, texts: Sequence[str]) -> Found:
    """All matches in some texts."""
    encoded = reader.read(texts)
    offsets, labels, forms, kinds, features = index.native.candidates(encoded.blob, encoded.offsets, encoded.settings)
    return Found(offsets, labels, forms, kinds, features.reshape(-1, N_FORM))


def count_words(reader: WordReader, texts: Sequence[str], threads: int | None) -> Counter[str]:
    """In how many texts each word is."""

    def read(block: Block) -> tuple[StringTable, Int64]:
        encoded = reader.read(texts[block.begin : block.end])
        text, offsets, counts = native.word_counts(encoded.blob, encoded.offsets, encoded.settings)
        return StringTable(text, offsets), counts

    total: Counter[str] = Counter()

    def add(_: Block, found: tuple[StringTable, Int64]) -> None:
        total.update(dict(zip(found[0], found[1].tolist(), strict=True)))

    _each_block(read, texts, threads, "counting words", add)
    return total


def build_index(
    names: Sequence[Sequence[str]], reader: WordReader, texts: Sequence[str], label_rows: Int64, *, partial: float,
    likeness: float, threads: int | None,
) -> NameIndex:  # fmt: skip
    """Of the names of each label."""
    known = count_words(reader, texts, threads)
    flat = [name for of_label in names for name in of_label]
    labels = [label for label, of_label in enumerate(names) for _ in of_label]
    return NameIndex.build(
        flat, labels, parse(flat, reader, known), known=known, n_texts=len(texts), label_rows=label_rows,
        partial=partial, likeness=likeness,
    )  # fmt: skip


def train_scorer(
    index: NameIndex, reader: WordReader, texts: Sequence[str], Y: Csr, *, seed: int, threads: int | None
) -> NameScorer:
    """Count the matches of all rows, then learn from some of them what each feature is worth."""
    n_labels = index.n_labels
    matches, hits, per_row = count_matches(index, reader, texts, Y, threads=threads)
    rows = np.bincount(Y.indices, minlength=n_labels)
    labelled = rows > 0
    all_hits, all_matches = hits[:, labelled].sum(axis=1), matches[:, labelled].sum(axis=1)
    general = (all_hits + 0.5) / (all_matches + 1.0)
    scorer = NameScorer(
        Curves.nothing(np.log(general / (1 - general))), to_int32(rows), to_int32(matches), to_int32(hits), general
    )
    scorer.curves = _learn_curves(scorer, index, reader, texts, Y, per_row, seed, threads)
    return scorer


def count_matches(
    index: NameIndex, reader: WordReader, texts: Sequence[str], Y: Csr, *, threads: int | None
) -> tuple[Int64, Int64, Int64]:
    """Kinds × labels: rows that have the name, and those of them that have the label; and how many names a row has."""
    shape = len(KINDS), index.n_labels
    matches, hits = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    per_row = np.zeros(len(texts), np.int64)

    def count(block: Block) -> tuple[Int32, Int32]:
        encoded, edges = reader.read(texts[block.begin : block.end]), Y.indptr[block.begin : block.end + 1]
        found, right = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        index.native.count(
            *encoded, edges - edges[0], Y.indices[edges[0] : edges[-1]], found, right, per_row[block.begin : block.end]
        )
        return found, right

    def add(block: Block, found: tuple[Int32, Int32]) -> None:
        np.add(matches, found[0], out=matches)
        np.add(hits, found[1], out=hits)

    _each_block(count, texts, threads, "looking for names", add)
    return matches, hits, per_row


def _learn_curves(
    scorer: NameScorer, index: NameIndex, reader: WordReader, texts: Sequence[str], Y: Csr, per_row: Int64, seed: int,
    threads: int | None,
) -> Curves:  # fmt: skip
    """From a sample of rows, each as if it had not been counted."""
    order = generator(seed, "names").permutation(len(texts))
    enough = int(np.searchsorted(np.cumsum(per_row[order]), 2 * len(KINDS) * MOST_PAIRS)) + 1
    chosen = np.sort(order[:enough])
    sample = [texts[i] for i in chosen.tolist()]
    wanted = Y[chosen]
    hidden = _hidden(index.n_labels, seed)

    def read(block: Block) -> tuple[Array, Array, Array]:
        found = find(index, reader, sample[block.begin : block.end])
        right = _has(wanted, block.begin, found)
        own = np.ones(len(right), np.bool_)
        about = scorer.label_features(found.kinds, found.labels, own, right)
        # Only labels of several rows tell what it means that others have the label.
        alone = about[:, -1] > 0
        mask = hidden[found.labels]
        general = scorer.general[found.kinds[mask]]
        none = np.zeros(int(mask.sum()))
        about[mask] = features_of(none, none, none, general)
        use = (scorer.rows[found.labels] > 0) & (mask | ~alone)
        features = np.concatenate([found.features.astype(np.float64), about], axis=1)
        return features[use].astype(np.float32), right[use], found.kinds[use]

    parts = _in_order(read, sample, threads, "learning from names found")
    features, right, kinds = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    curves = scorer.curves
    for kind in range(len(KINDS)):
        at = np.flatnonzero(kinds == kind)
        if min(right[at].sum(), (~right[at]).sum()) < FEWEST:
            continue
        if len(at) > MOST_PAIRS:
            at = np.sort(generator(seed, "names", kind).permutation(at)[:MOST_PAIRS])
        place = slice(kind * len(FEATURES), (kind + 1) * len(FEATURES))
        at, share = _fewer_wrong(at, right, seed, kind)
        curves.at[place], curves.values[place], curves.used[place], bias = learn(features[at], right[at])
        curves.bias[kind] = bias + np.log(share)  # logistic regression: what was left out moves the constant alone
    return curves


def _fewer_wrong(at: Array, right: Array, seed: int, kind: int) -> tuple[Array, float]:
    """Without most of the wrong matches, and the share of them that is left."""
    wrong = at[~right[at]]
    most = max(MOST_WRONG, len(at) - len(wrong))
    if len(wrong) <= most:
        return at, 1.0
    some = generator(seed, "wrong names", kind).permutation(wrong)[:most]
    return np.sort(np.concatenate([at[right[at]], some])), most / len(wrong)


def to_int32(counts: Array) -> Int32:
    """As the kernel has counts."""
    return counts.clip(0, 2**31 - 1).astype(np.int32)


def _hidden(n_labels: int, seed: int) -> Array:
    """Some labels, drawn at random."""
    return generator(seed, "hidden labels").random(n_labels) < HIDDEN


def _has(Y: Csr, first: int, found: Found) -> Array:
    """Whether the row of each match has its label; row 0 of `found` is row `first` of Y."""
    n = len(found.offsets) - 1
    width = int(Y.shape[1])
    begin, end = int(Y.indptr[first]), int(Y.indptr[first + n])
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(Y.indptr[first : first + n + 1]))
    given = rows * width + Y.indices[begin:end]
    asked = found.rows * width + found.labels
    at = np.searchsorted(given, asked)
    inside = at < len(given)
    out = np.zeros(len(asked), np.bool_)
    out[inside] = given[at[inside]] == asked[inside]
    return out


def _in_order(work: Callable[[Block], T], texts: Sequence[str], threads: int | None, title: str) -> list[T]:
    """What `work` makes of each block of texts."""
    made: dict[int, T] = {}
    _each_block(work, texts, threads, title, lambda block, result: made.update({block.begin: result}))
    return [made[begin] for begin in sorted(made)]


def _each_block(
    work: Callable[[Block], T],
    texts: Sequence[str],
    threads: int | None,
    title: str,
    done: Callable[[Block, T], object],
) -> None:
    """`work` on all threads, `done` on this one, in any order."""
    tasks = blocks(texts, thread_count(threads))
    with progress.step(title, total=sum(block.size for block in tasks), unit="chars") as advance:

        def end(block: Block, result: T) -> None:
            done(block, result)
            advance(block.size)

        each(work, tasks, end, threads=min(thread_count(threads), max(1, len(tasks))))
