"""`NameMatch`: a label's name found in the text, and what each thing known of it added to the log-odds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.text import Text

SHOWN = 12  # words of a name that a console shows


class FoundWord(NamedTuple):
    """A word of the name, and where the text has it: `text[start:end]`."""

    word: str
    start: int
    end: int
    likeness: float  # 1: the same word
    qualifier: bool  # it only tells the name from others


class Reason(NamedTuple):
    """One thing that is known of a match, and what it added to the log-odds."""

    feature: str
    meaning: str
    value: float
    amount: float


@dataclass(frozen=True)
class NameMatch:
    """Which name was found, where, and what that is worth."""

    name: str
    whole: bool  # all of the name's main words are there, else a part of them
    exact: bool  # they stand together in the name's order, and are the same words
    words: tuple[FoundWord, ...]  # in the name's order
    bias: float
    reasons: tuple[Reason, ...]  # strongest first
    log_odds: float  # bias + amounts

    @property
    def score(self) -> float:
        """The probability that the label is right, by its name alone."""
        return 1.0 / (1.0 + math.exp(-self.log_odds)) if self.log_odds > -700 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "whole": self.whole,
            "exact": self.exact,
            "words": [word._asdict() for word in self.words],
            "bias": self.bias,
            "reasons": [reason._asdict() for reason in self.reasons],
            "log_odds": self.log_odds,
            "score": self.score,
        }

    def lines(self, *, top: int, compact: bool, width: int) -> Iterator[Text]:
        """For a console: the name, its words, and what speaks for and against it."""
        from rich.text import Text

        how = "as it is" if self.exact else "in other words or order" if self.whole else "in part"
        yield Text.assemble(
            (f"“{_short(self.name)}”", "bold"), f" found {how}: ", (_short(self._said()), "cyan"),
            (f"  {self.log_odds:+.2f}", _colour(self.log_odds)), (f" → {self.score:.3f}", "dim"),
        )  # fmt: skip
        shown, rest = self.reasons[:top], self.reasons[top:]
        rows = [
            (f"{r.meaning}: {r.value:.3g}" if not compact else f"{r.feature} {r.value:.3g}", r.amount) for r in shown
        ]
        rows += [(f"{len(rest)} more", sum(r.amount for r in rest))] if rest else []
        rows.append(("bias", self.bias))
        if not compact:
            wide = max(len(name) for name, _ in rows)
            for name, amount in rows:
                yield Text.assemble(f"  {name:<{wide}}  ", (f"{amount:+.3f}", _colour(amount)))
            return
        line = Text("  ")
        for name, amount in rows:
            part = Text.assemble(f"{name} ", (f"{amount:+.2f}", _colour(amount)))
            if line.cell_len > 2 and line.cell_len + 3 + part.cell_len > width:
                yield line
                line = Text("  ")
            line = Text.assemble(line, "   " if line.cell_len > 2 else "", part)
        yield line

    def _said(self) -> str:
        words = [
            word.word if word.likeness == 1 else f"{word.word} ({word.likeness:.0%} alike)"
            for word in self.words[:SHOWN]
        ]
        return ", ".join(words) + (" …" if len(self.words) > SHOWN else "")


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"


def _colour(amount: float) -> str:
    return "green" if amount > 0 else "red" if amount < 0 else ""
