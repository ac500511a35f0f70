"""What each witness of an ensemble goes by, in a line or two: an explanation of several witnesses fits a screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.text import Text

from .neighbor_view import fitted, named_row, voters_of

if TYPE_CHECKING:
    from .explanation import Explanation
    from .view import View

QUIET = "dim"
FEATURES = 8  # the strongest of a witness
EXCERPT = 240  # characters of the text that are shown, of one with witnesses


def brief_lines(explanation: Explanation, view: Callable[[Explanation], View], width: int) -> Iterator[Text]:
    """For each member its name and the strongest of what it has to say; `view` knows what labels are called."""
    wide = max(map(len, explanation.witnesses), default=0)
    for member, called in zip_longest(explanation.members, explanation.witnesses):
        head = Text.assemble(((called or "model").ljust(wide), "bold"), "  ")
        for i, line in enumerate(_evidence(view(member), width)):
            yield fitted(Text.assemble(head, line) if i == 0 else line, width, indent=2 if i else 0)


def _evidence(view: View, width: int) -> Iterator[Text]:
    it = view.explanation
    if it.matches:
        yield next(it.matches[0].lines(top=1, compact=True, width=width))
    elif it.neighbors:
        share, voters = voters_of(it.neighbors)
        yield share
        if voters:
            yield named_row(voters[0])
    elif it.reached:
        yield _strongest(view)
    else:
        yield Text(view.verdict(), style=QUIET)


def _strongest(view: View) -> Text:
    """The features that did most to all margins on the way."""
    pushes = list(view.explanation.pushes().items())
    if not pushes:
        return Text(view.verdict(), style=QUIET)
    out = Text()
    for feature, amount in pushes[:FEATURES]:
        out.append(f"{'   ' if out else ''}{view.feature(feature)} ")
        out.append(f"{amount:+.2f}", style="green" if amount > 0 else "red" if amount < 0 else "")
    if len(pushes) > FEATURES:
        out.append(f"   {len(pushes) - FEATURES:,} more", style=QUIET)
    return out
