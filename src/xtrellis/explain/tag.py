"""`ExplainedTag`: an explanation with names for numbers, and the words of the text coloured by what they did."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Float64
from ..core import clear_calls
from ..text import PointTable, code_points
from .explanation import Explanation, Names
from .words import Words, share_out

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

# Backgrounds with a foreground of their own, so that they read alike on dark and light terminals.
UP = ("black on #d2f4d9", "black on #7ee29a", "bold white on #1a7f37")
DOWN = ("black on #ffdcd7", "black on #ff9c94", "bold white on #b3261e")
FAINT, MIDDLING, STRONG = 0.06, 0.25, 0.6  # parts of the strongest push: less than faint is not worth a colour
EXCERPT, AROUND = 400, 40  # characters of a long text that are shown for each of several labels
LARGEST = 20_000  # characters that are shown of any text: some ten pages
PIECE = 1 << 20  # characters looked at together


@clear_calls
@dataclass(frozen=True)
class ExplainedTag:
    """Why one label fits a text or does not."""

    text: str
    label: str
    explanation: Explanation
    words: Words
    label_names: Names
    feature_names: Names
    id: str = ""  # of the label, if a vocabulary says one

    @classmethod
    def of(
        cls,
        text: str,
        label: str,
        explanation: Explanation,
        spans: Iterable[tuple[int, int, Sequence[int]]],
        label_names: Names,
        feature_names: Names,
        *,
        id: str = "",
    ) -> ExplainedTag:
        """With `spans` (start, end, features) that say where in the text the features are."""
        words = share_out(text, spans, explanation.pushes())
        named = list(explanation.name_pushes())
        if named:  # the label's own name in the text
            places = [(word.start, word.end, (i,)) for i, (match, _) in enumerate(named) for word in match.words]
            more = share_out(text, places, {i: amount for i, (_, amount) in enumerate(named)})
            words = Words(text, words.edges, words.pushes + more.pushes)
        return cls(text, label, explanation, words, label_names, feature_names, id)

    @property
    def score(self) -> float:
        """What `tag` answers for this label: 0 if search does not find it."""
        return self.explanation.score

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        words = [word._asdict() for word in self.words.that_push()]
        known = {"id": self.id} if self.id else {}
        return {**known, "words": words, **self.explanation.to_dict(self.label_names, self.feature_names)}

    def highlighted(self, *, at_most: int | None = None) -> Text:
        """The text with what pushed the label up on green and what pushed it down on red.

        A text longer than `at_most` characters is cut to the places that matter.
        """
        from rich.text import Text

        with np.errstate(all="ignore"):  # a damaged model may hold anything
            sizes = np.abs(self.words.pushes)
            strongest = sizes.max(initial=0.0)
            parts = sizes / strongest if strongest else sizes
        if at_most is None or len(self.text) <= at_most:
            return self._coloured(0, len(self.text), parts)
        stretches = self._stretches(parts, at_most)
        shown = Text(" … ").join(self._coloured(*stretch, parts) for stretch in stretches)
        ends = ("… " if stretches[0][0] else "", " …" if stretches[-1][1] < len(self.text) else "")
        return Text.assemble(ends[0], shown, ends[1])

    def _coloured(self, begin: int, end: int, parts: Float64) -> Text:
        """Characters begin .. end, coloured; `parts` says how strong each word is beside the strongest."""
        from rich.text import Text

        edges, pushes = self.words.edges, self.words.pushes
        out = Text(_printable(self.text[begin:end]))
        first, last = np.searchsorted(edges, begin, side="right") - 1, np.searchsorted(edges, end, side="left")
        for i in (first + np.flatnonzero(parts[first:last] >= FAINT)).tolist():
            shade = 0 if parts[i] < MIDDLING else 1 if parts[i] < STRONG else 2
            start, stop = max(int(edges[i]), begin), min(int(edges[i + 1]), end)
            out.stylize((UP if pushes[i] > 0 else DOWN)[shade], start - begin, stop - begin)
        return out

    def _stretches(self, parts: Float64, at_most: int) -> list[tuple[int, int]]:
        """What lies around the strongest words, in the order of the text, until there are `at_most` characters."""
        strong = np.flatnonzero(parts >= MIDDLING)
        order = strong[np.argsort(-parts[strong], kind="stable")]
        begins: list[int] = []
        ends: list[int] = []
        taken = 0
        for i in order[: at_most + 1].tolist():  # each takes a character at least, or lies within what is taken
            begin, end = int(self.words.edges[i]), int(self.words.edges[i + 1])
            around = AROUND if begins else min(AROUND, max(0, at_most - (end - begin)) // 2)
            start, end = max(0, begin - around), min(len(self.text), end + around)
            if not begins:  # a word may be longer than all that is shown
                end = min(end, start + at_most)
            low, high = bisect_left(ends, start), bisect_right(begins, end)  # those that it touches become one with it
            if low < high:
                start, end = min(start, begins[low]), max(end, ends[high - 1])
            more = end - start - sum(ends[low:high]) + sum(begins[low:high])
            if taken + more > at_most:
                break
            taken += more
            begins[low:high], ends[low:high] = [start], [end]
        return list(zip(begins, ends, strict=True)) or [(0, at_most)]

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

        from .brief import EXCERPT as BRIEF
        from .view import LEFT
        from .view import View as Steps

        tag, width = self.tag, options.max_width
        steps = Steps(
            tag.explanation, tag.label_names, tag.feature_names, top=self.top, compact=self.compact, id=tag.id
        )
        yield from steps.head(width)
        if console.color_system is not None and not console.no_color:
            excerpt = EXCERPT if tag.explanation.verdict is None else BRIEF
            text = tag.highlighted(at_most=excerpt if self.compact else LARGEST)
            for line in text.wrap(console, max(width - LEFT, 20)):
                yield Text.assemble(" " * LEFT, line)
        yield from steps.body(width)


def _printable(text: str) -> str:
    """With a space for what a terminal would obey or not show."""
    if text.isprintable():
        return text
    out = []
    for begin in range(0, len(text), PIECE):
        points = code_points(text[begin : begin + PIECE]).copy()
        points[_SHOWS.at(points) == 0] = ord(" ")
        out.append(points.tobytes().decode("utf-32-le"))
    return "".join(out)


_SHOWS = PointTable(lambda char: int(char.isprintable()))
