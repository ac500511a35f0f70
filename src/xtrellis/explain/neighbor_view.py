"""Neighbours on a console: those that vote for the label, a line or two each, and what the others have instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from .neighbor import Neighbor
from .tag import _printable

FEW = 3  # neighbours that a compact view shows
FEATURES = 6  # that are shown of each
QUIET, GAP = "dim", "   "


def neighbor_lines(
    neighbors: Sequence[Neighbor],
    width: int,
    *,
    label: Callable[[int], str],
    feature: Callable[[int], str],
    top: int,
    compact: bool,
) -> Iterator[Text]:
    """At most `top` of those that vote, the most similar first."""
    share, voters = voters_of(neighbors)
    yield fitted(share, width)
    shown = voters[: min(top, FEW) if compact else top]
    for near in shown:
        yield fitted(named_row(near), width)
        yield fitted(_features(near, feature), width, indent=2)
    if len(voters) > len(shown):
        yield Text(f"{len(voters) - len(shown):,} more", style=QUIET)
    others = Counter(one for near in neighbors if not near.votes for one in near.labels)
    if others:
        names = " · ".join(f"{label(one)} ({count:,})" for one, count in others.most_common(FEW))
        yield fitted(Text(f"the others have {names}", style=QUIET), width)


def voters_of(neighbors: Sequence[Neighbor]) -> tuple[Text, list[Neighbor]]:
    """How many of the neighbours have the label, in words; and these."""
    voters = [near for near in neighbors if near.votes]
    share = sum(near.share for near in voters)
    said = Text.assemble(
        (f"{len(voters):,} of {len(neighbors):,} neighbours have it", "bold"),
        (f", with {share:.1%} of the votes" if voters else "", QUIET),
    )
    return said, voters


def named_row(near: Neighbor) -> Text:
    """How similar it is, its number, and the beginning of its text."""
    said = "" if near.text is None else ": " + " ".join(_printable(near.text).split())
    what = f"row {near.row}{said}"
    return Text.assemble(f"{near.similarity:.3f}  ", what)


def _features(near: Neighbor, feature: Callable[[int], str]) -> Text:
    parts = [f"{feature(one.feature)} {one.contribution:+.2f}" for one in near.shared[:FEATURES]]
    rest = near.shared[FEATURES:]
    if rest:
        parts.append(f"{len(rest)} more {sum(one.contribution for one in rest):+.2f}")
    return Text(GAP.join(parts), style=QUIET)


def fitted(line: Text, width: int, indent: int = 0) -> Text:
    """On one line: what does not fit is cut off."""
    room = max(width - indent, 8)
    if cell_len(line.plain) > room:
        line = line.copy()
        line.truncate(room, overflow="ellipsis")
    return Text.assemble(" " * indent, line)
