"""Plots beside a page, as SVG for it and PNG for everybody else; and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ..core import MissingExtraError


class Figures:
    """Writes NAME-KEY.svg and .png into a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    @contextmanager
    def draw(
        self, key: str, *, columns: int = 1, rows: int = 1, size: tuple[float, float] = (5.0, 3.6)
    ) -> Iterator[Any]:
        """Yields matplotlib axes (rows × columns of them, flat); the picture is written when the block ends."""
        try:
            import matplotlib as mpl
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("matplotlib", "bench", "drawing plots") from None
        # A salt and no date: the same numbers give the same file.
        with mpl.rc_context({"svg.hashsalt": self.name, "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
            figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
            axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
            yield axes
            figure.savefig(self.folder / f"{self.name}-{key}.svg", metadata={"Date": None})
            figure.savefig(self.folder / f"{self.name}-{key}.png", dpi=120, metadata={"Software": None})

    def link(self, key: str, text: str) -> str:
        """The Markdown that shows a picture."""
        return f"![{text}]({self.name}-{key}.svg)"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table: the first column to the left, numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation, or the one value that there is."""
    if not values:
        return "–"
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def spread_table(rows: Sequence[Mapping[str, Any]], key: str, shown: Mapping[str, str]) -> str:
    """A line for each value of `key`, in the order of the rows, over all their seeds; `shown` is field: heading."""
    lines = []
    for name in dict.fromkeys(row[key] for row in rows):
        mine = [row for row in rows if row[key] == name]
        lines.append([name, *(spread([row[field] for row in mine]) for field in shown)])
    return table([key, *shown.values()], lines)
