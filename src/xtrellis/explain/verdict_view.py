"""A verdict on a console: one line for each witness, what it said and what that added to the log-odds."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from .verdict import Testimony, Verdict

BAR = 16  # characters of the longest bar


def verdict_lines(verdict: Verdict, left: int) -> Iterator[Text]:
    """What was said and what it added, then where it began and what came out."""
    rows = [(witness.witness, _said(witness), witness.added) for witness in verdict.testimonies]
    count = verdict.frequency
    rows.append(("frequency", f"{count:,.0f} row{'' if count == 1 else 's'} in training", verdict.frequency_added))
    rows.append(("to begin with", "", verdict.base))
    wide = max(len(name) for name, _, _ in rows), max(len(said) for _, said, _ in rows)
    longest = max(abs(row[2]) for row in rows) or 1.0
    for name, said, added in rows:
        colour = "dim" if name == "to begin with" else "green" if added > 0 else "red" if added < 0 else ""
        line = Text(" " * left)
        line.append(name.ljust(wide[0]), style="bold" if colour != "dim" else "dim")
        line.append(f"  {said.ljust(wide[1])}", style="dim")
        line.append(f"  {added:+6.2f}  ", style=colour)
        line.append("█" * round(BAR * min(1, abs(added) / longest)) if added == added else "", style=colour)
        line.rstrip()
        yield line
    yield Text(f"{' ' * left}= {verdict.log_odds:+.2f}: right {verdict.probability:.0%} of the time", style="bold")


def _said(witness: Testimony) -> str:
    if witness.rank is not None and witness.score is not None:
        return f"number {witness.rank:,}, {witness.score:.3f}"
    return "does not name it" if witness.score is None else f"not among its first, {witness.score:.3f}"
