"""Answers as lines: JSON objects with names and scores, or the score files of the XMC repository.

A million rows are written as fast as they are found: names are looked up and quoted once, and lines go out as they
are made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ...tagger import Tagger
    from .rows import Answered

MOST_NAMES = 200_000  # remembered as they are written


class Names(dict[int, str]):
    """Label names as JSON strings, made when first needed."""

    def __init__(self, tagger: Tagger, stream: TextIO) -> None:
        super().__init__()
        self._names = tagger.label_names
        self.ascii_only = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
        self._string = encode_basestring_ascii if self.ascii_only else encode_basestring

    def __missing__(self, label: int) -> str:
        if len(self) > MOST_NAMES:
            self.clear()
        quoted = self[label] = self.quote(self._names[label])
        return quoted

    def quote(self, value: object) -> str:
        """Any value as JSON; most are numbers or strings, which need no encoder."""
        if type(value) is int:
            return str(value)
        return self._string(value) if type(value) is str else json.dumps(value, ensure_ascii=self.ascii_only)

    def fields(self, passed: dict[str, object]) -> str:
        """Columns that are passed through, as the beginning of an object."""
        return "".join([f"{self._string(name)}: {self.quote(value)}, " for name, value in passed.items()])


def json_lines(found: Answered, tagger: Tagger, names: Names) -> Iterator[str]:
    """`{"id": 7, "labels": ["a", "b"], "scores": [0.9, 0.2]}` for each row; `reason` where there is nothing."""
    passed = found.block.passed
    score_text = "{:.9g}".format
    for row, (labels, scores) in enumerate(zip(found.top.labels.tolist(), found.top.scores.tolist(), strict=True)):
        if -1 in labels:
            kept = [(label, score) for label, score in zip(labels, scores, strict=True) if label >= 0]
            labels, scores = [label for label, _ in kept], [score for _, score in kept]
        before = names.fields(passed[row]) if passed is not None else ""
        after = ""
        if not labels and (reason := found.reason(row, tagger)) is not None:
            after = f', "reason": {names.quote(reason)}'
        yield (
            f'{{{before}"labels": [{", ".join([names[label] for label in labels])}], '
            f'"scores": [{", ".join(map(score_text, scores))}]{after}}}\n'
        )


def tagged_lines(found: Answered, tagger: Tagger, names: Names, *, named: bool) -> Iterator[str]:
    """`{"text": "…", "tags": [{"label": "a", "score": 0.9}]}` for each text; its file instead, if they are `named`."""
    passed, quote = found.block.passed, names.quote
    texts = found.block.texts or []
    top = zip(texts, found.top.labels.tolist(), found.top.scores.tolist(), strict=True)
    for row, (text, labels, scores) in enumerate(top):
        tags = [
            f'{{"label": {names[label]}, "score": {score:.9g}}}'
            for label, score in zip(labels, scores, strict=True)
            if label >= 0
        ]
        file = passed[row].get("file") if named and passed else None
        begin = f'"text": {quote(text)}' if file is None else f'"file": {quote(file)}'
        after = ""
        if not tags and (reason := found.reason(row, tagger)) is not None:
            after = f', "reason": {quote(reason)}'
        yield f'{{{begin}, "tags": [{", ".join(tags)}]{after}}}\n'


def xmc_lines(found: Answered) -> Iterator[str]:
    """`label:score` pairs, best first."""
    for labels, scores in zip(found.top.labels.tolist(), found.top.scores.tolist(), strict=True):
        pairs = [f"{label}:{score:.9g}" for label, score in zip(labels, scores, strict=True) if label >= 0]
        yield " ".join(pairs) + "\n"
