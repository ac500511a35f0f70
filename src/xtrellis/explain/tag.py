"""`ExplainedTag`: an explanation with names for numbers, and the words of the text coloured by what they did."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from .explanation import Explanation, Names

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

# Backgrounds with a foreground of their own, so that they read alike on dark and light terminals.
UP = ("black on #d2f4d9", "black on #7ee29a", "bold white on #1a7f37")
DOWN = ("black on #ffdcd7", "black on #ff9c94", "bold white on #b3261e")
FAINT, MIDDLING, STRONG = 0.06, 0.25, 0.6  # parts of the strongest push: less than faint is not worth a colour
EXCERPT, AROUND = 400, 40  # characters of a long text that are shown for each of several labels


class Word(NamedTuple):
    """A piece of the text and how much it pushed the label up (or down, below 0)."""

    start: int
    end: int
    text: str
    push: float


@dataclass(frozen=True)
class ExplainedTag:
    """Why one label fits a text or does not."""

    text: str
    label: str
    explanation: Explanation
    words: tuple[Word, ...]
    label_names: Names
    feature_names: Names

    @classmethod
    def of(
        cls,
        text: str,
        label: str,
        explanation: Explanation,
        spans: Iterable[tuple[int, int, Sequence[int]]],
        label_names: Names,
        feature_names: Names,
    ) -> ExplainedTag:
        """With `spans` (start, end, features) that say where in the text the features are."""
        words = share_out(text, spans, explanation.pushes())
        return cls(text, label, explanation, words, label_names, feature_names)

    @property
    def score(self) -> float:
        """What `tag` answers for this label: 0 if search does not find it."""
        return self.explanation.score

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        words = [word._asdict() for word in self.words if word.push]
        return {"words": words, **self.explanation.to_dict(self.label_names, self.feature_names)}

    def highlighted(self, *, at_most: int | None = None) -> Text:
        """The text with what pushed the label up on green and what pushed it down on red.

        A text longer than `at_most` characters is cut to the places that matter.
        """
        from rich.text import Text

        out = Text("".join(char if char.isprintable() else " " for char in self.text))
        strongest = max((abs(word.push) for word in self.words), default=0.0)
        strong: list[Word] = []
        for word in self.words:
            part = abs(word.push) / strongest if strongest else 0.0
            if part >= FAINT:
                shade = 0 if part < MIDDLING else 1 if part < STRONG else 2
                out.stylize((UP if word.push > 0 else DOWN)[shade], word.start, word.end)
            if part >= MIDDLING:
                strong.append(word)
        return out if at_most is None or len(self.text) <= at_most else _excerpt(out, strong, at_most)

    def render(self, *, top: int = 10, compact: bool = False) -> TagView:
        """For a rich console: the highlighted text, then the path; colourless consoles get the path only."""
        return TagView(self, top, compact)

    __rich__ = render


class TagView:
    """Prints an ExplainedTag."""

    def __init__(self, tag: ExplainedTag, top: int, compact: bool) -> None:
        self.tag, self.top, self.compact = tag, top, compact

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        from .view import LEFT
        from .view import View as Steps

        tag, width = self.tag, options.max_width
        steps = Steps(tag.explanation, tag.label_names, tag.feature_names, top=self.top, compact=self.compact)
        yield from steps.head(width)
        if console.color_system is not None and not console.no_color:
            text = tag.highlighted(at_most=EXCERPT if self.compact else None)
            for line in text.wrap(console, max(width - LEFT, 20)):
                yield Text.assemble(" " * LEFT, line)
        yield from steps.body(width)


def _excerpt(text: Text, words: Sequence[Word], at_most: int) -> Text:
    """The stretches around the strongest words, in the order of the text, until there are `at_most` characters."""
    from rich.text import Text

    wanted: set[int] = set()
    for word in sorted(words, key=lambda word: -abs(word.push)):
        around = range(max(0, word.start - AROUND), min(len(text), word.end + AROUND))
        if wanted and len(wanted.union(around)) > at_most:
            break
        wanted.update(around)
    positions = sorted(wanted) or list(range(at_most))
    pieces: list[Text] = []
    begin = positions[0]
    for here, following in zip(positions, [*positions[1:], -1], strict=True):
        if following != here + 1:
            pieces.append(text[begin : here + 1])
            begin = following
    ends = ("… " if positions[0] else "", " …" if positions[-1] + 1 < len(text) else "")
    return Text.assemble(ends[0], Text(" … ").join(pieces), ends[1])


def share_out(text: str, spans: Iterable[tuple[int, int, Sequence[int]]], pushes: dict[int, float]) -> tuple[Word, ...]:
    """Each feature's push, divided evenly among its places in the text and there among the characters, by words.

    So a word that is part of several n-grams gets its part of each, and the words together have what the features have.
    """
    places: dict[int, list[tuple[int, int]]] = {}
    for start, end, features in spans:
        for feature in features:
            places.setdefault(feature, []).append((start, end))
    kinds = [_kind(char) for char in text]
    amount = [0.0] * len(text)
    for feature, push in pushes.items():
        for start, end in (found := places.get(feature, [])):
            inside = [i for i in range(start, end) if kinds[i]] or range(start, end)
            for i in inside:
                amount[i] += push / len(found) / len(inside)
    words = []
    for _, run in groupby(range(len(text)), key=lambda i: kinds[i]):
        positions = list(run)
        start, end = positions[0], positions[-1] + 1
        words.append(Word(start, end, text[start:end], sum(amount[start:end])))
    return tuple(words)


def _kind(char: str) -> int:
    """0 for space, 1 for what makes words, 2 for the rest."""
    if char.isspace():
        return 0
    return 1 if char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M" else 2
