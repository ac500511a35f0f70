"""Neighbours on a console: those that vote for the label, a line or two each, and what the others have instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rich.cells import cell_len, set_cell_size
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
    voters = [near for near in neighbors if near.votes]
    share = sum(near.share for near in voters)
    yield _fitted(
        Text.assemble(
            (f"{len(voters):,} of {len(neighbors):,} neighbours have it", "bold"),
            (f", with {share:.1%} of the votes" if voters else "", QUIET),
        ),
        width,
    )
    shown = voters[: min(top, FEW) if compact else top]
    for near in shown:
        yield _fitted(_title(near), width)
        yield _fitted(_features(near, feature), width, indent=2)
    if len(voters) > len(shown):
        yield Text(f"{len(voters) - len(shown):,} more", style=QUIET)
    others = Counter(one for near in neighbors if not near.votes for one in near.labels)
    if others:
        names = " · ".join(f"{label(one)} ({count:,})" for one, count in others.most_common(FEW))
        yield _fitted(Text(f"the others have {names}", style=QUIET), width)


def _title(near: Neighbor) -> Text:
    said = "" if near.text is None else ": " + " ".join(_printable(near.text).split())
    what = f"row {near.row}{said}"
    return Text.assemble(f"{near.similarity:.3f}  ", what)


def _features(near: Neighbor, feature: Callable[[int], str]) -> Text:
    parts = [f"{feature(one.feature)} {one.contribution:+.2f}" for one in near.shared[:FEATURES]]
    rest = near.shared[FEATURES:]
    if rest:
        parts.append(f"{len(rest)} more {sum(one.contribution for one in rest):+.2f}")
    return Text(GAP.join(parts), style=QUIET)


def _fitted(line: Text, width: int, indent: int = 0) -> Text:
    """On one line: what does not fit is cut off."""
    room = max(width - indent, 8)
    if cell_len(line.plain) > room:
        line = Text(set_cell_size(line.plain, room - 1) + "…", style=line.style)
    return Text.assemble(" " * indent, line)
