"""Answers as lines: JSON objects with names and scores, or the score files of the XMC repository.

A million rows are written as fast as they are found: names are looked up and quoted once, and a kernel makes the lines
of many rows at a time. A few rows are not worth that: their lines are made here, one by one, and look the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ...data import AnswerLines
    from ...tagger import Tagger
    from .rows import Answered

MOST_NAMES = 200_000  # remembered as they are written
MANY = 256  # rows of a block whose lines the kernel makes
TOGETHER = 2048  # rows whose lines are in memory at once


class Names(dict[int, str]):
    """Label names as JSON strings, made when first needed."""

    def __init__(self, tagger: Tagger, stream: TextIO) -> None:
        super().__init__()
        self._names = tagger.label_names
        self._ids = None if tagger.vocabulary is None else tagger.label_ids  # beside the names, if they are others
        self._quoted_ids: dict[int, str] = {}
        self.ascii_only = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
        self._string = encode_basestring_ascii if self.ascii_only else encode_basestring
        self._lines: AnswerLines | None = None

    def __missing__(self, label: int) -> str:
        if len(self) > MOST_NAMES:
            self.clear()
        quoted = self[label] = self.quote(self._names[label])
        return quoted

    @property
    def with_ids(self) -> bool:
        """True if labels have ids beside their names."""
        return self._ids is not None

    def id(self, label: int) -> str:
        """A label's id as a JSON string."""
        quoted = self._quoted_ids.get(label)
        if quoted is None and self._ids is not None:
            if len(self._quoted_ids) > MOST_NAMES:
                self._quoted_ids.clear()
            quoted = self._quoted_ids[label] = self.quote(self._ids[label])
        return quoted or '""'

    def ids(self, labels: Sequence[int]) -> str:
        """`, "ids": […]` of a row, as the end of an object; nothing where names are all there is."""
        if self._ids is None:
            return ""
        return f', "ids": [{", ".join([self.id(label) for label in labels if label >= 0])}]'

    def quote(self, value: object) -> str:
        """Any value as JSON; most are numbers or strings, which need no encoder."""
        if type(value) is int:
            return str(value)
        return self._string(value) if type(value) is str else json.dumps(value, ensure_ascii=self.ascii_only)

    def fields(self, passed: dict[str, object]) -> str:
        """Columns that are passed through, as the beginning of an object."""
        return "".join([f"{self._string(name)}: {self.quote(value)}, " for name, value in passed.items()])

    def lines(self) -> AnswerLines:
        """What makes the lines of many rows."""
        if self._lines is None:
            from ...data import AnswerLines

            self._lines = AnswerLines(self._names, self._string)
        return self._lines


def json_lines(found: Answered, tagger: Tagger, names: Names) -> Iterator[str]:
    """`{"id": 7, "labels": ["a", "b"], "scores": [0.9, 0.2]}` for each row; `reason` where there is nothing, `ids`
    where a vocabulary has them."""
    passed = found.block.passed

    def before(row: int) -> str:
        return names.fields(passed[row]) if passed is not None else ""

    if len(found.top) >= MANY:
        yield from _many("lists", found, tagger, names, before if passed is not None else None)
        return
    score_text = "{:.9g}".format
    for row, (labels, scores) in enumerate(zip(found.top.labels.tolist(), found.top.scores.tolist(), strict=True)):
        if -1 in labels:
            kept = [(label, score) for label, score in zip(labels, scores, strict=True) if label >= 0]
            labels, scores = [label for label, _ in kept], [score for _, score in kept]
        after = names.ids(labels) + ("" if labels else _reason(found, row, tagger, names))
        yield (
            f'{{{before(row)}"labels": [{", ".join([names[label] for label in labels])}], '
            f'"scores": [{", ".join(map(score_text, scores))}]{after}}}\n'
        )


def tagged_lines(found: Answered, tagger: Tagger, names: Names, *, named: bool) -> Iterator[str]:
    """`{"text": "…", "tags": [{"label": "a", "score": 0.9}]}` for each text; its file instead, if they are `named`."""
    passed, quote, texts = found.block.passed, names.quote, found.block.texts or []

    def before(row: int) -> str:
        file = passed[row].get("file") if named and passed else None
        return f'"text": {quote(texts[row])}, ' if file is None else f'"file": {quote(file)}, '

    known = None if found.chances is None or found.chances is found.top else found.chances.scores.tolist()
    if len(found.top) >= MANY and known is None and not names.with_ids:
        yield from _many("tags", found, tagger, names, before)
        return
    for row, (labels, scores) in enumerate(zip(found.top.labels.tolist(), found.top.scores.tolist(), strict=True)):
        tags = [
            (f'{{"id": {names.id(label)}, ' if names.with_ids else "{")
            + f'"label": {names[label]}, "score": {score:.9g}'
            + (f', "probability": {known[row][i]:.9g}}}' if known is not None else "}")
            for i, (label, score) in enumerate(zip(labels, scores, strict=True))
            if label >= 0
        ]
        after = "" if tags else _reason(found, row, tagger, names)
        yield f'{{{before(row)}"tags": [{", ".join(tags)}]{after}}}\n'


def xmc_lines(found: Answered, names: Names) -> Iterator[str]:
    """`label:score` pairs, best first."""
    if len(found.top) >= MANY:
        for begin in range(0, len(found.top), TOGETHER):
            yield _as_text(names.lines().format("pairs", found.top[begin : begin + TOGETHER]))
        return
    for labels, scores in zip(found.top.labels.tolist(), found.top.scores.tolist(), strict=True):
        pairs = [f"{label}:{score:.9g}" for label, score in zip(labels, scores, strict=True) if label >= 0]
        yield " ".join(pairs) + "\n"


def _as_text(lines: bytes) -> str:
    """Names may hold what UTF-8 has no place for."""
    return lines.decode("utf-8", "surrogatepass")


def _many(
    shape: str, found: Answered, tagger: Tagger, names: Names, before: Callable[[int], str] | None
) -> Iterator[str]:
    """The lines of many rows, some at a time."""
    import numpy as np

    empty = set(np.flatnonzero((found.top.labels < 0).all(axis=1)).tolist())
    for begin in range(0, len(found.top), TOGETHER):
        rows = range(begin, min(begin + TOGETHER, len(found.top)))
        after = None
        if names.with_ids or not empty.isdisjoint(rows):
            after = [_reason(found, row, tagger, names) if row in empty else "" for row in rows]
        if names.with_ids and after is not None:
            listed = found.top.labels[rows.start : rows.stop].tolist()
            after = [names.ids(labels) + rest for labels, rest in zip(listed, after, strict=True)]
        above = None if before is None else list(map(before, rows))
        yield _as_text(names.lines().format(shape, found.top[rows.start : rows.stop], above, after))


def _reason(found: Answered, row: int, tagger: Tagger, names: Names) -> str:
    """Why a row has no labels, as the end of an object."""
    reason = found.reason(row, tagger)
    return "" if reason is None else f', "reason": {names.quote(reason)}'
