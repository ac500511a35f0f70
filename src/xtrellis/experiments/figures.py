"""Plots beside a page, as SVG for it and PNG for everybody else; and its tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, stdev
from typing import Any


def can_draw() -> bool:
    """True if matplotlib is there."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


class _Nothing:
    """Axes that draw nothing: whatever is asked of them, done to them or taken from them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter((self, self))


class Figures:
    """Writes NAME-KEY.svg and .png into a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name

    @contextmanager
    def draw(
        self, key: str, *, columns: int = 1, rows: int = 1, size: tuple[float, float] = (5.0, 3.6)
    ) -> Iterator[Any]:
        """Yields matplotlib axes (rows × columns of them, flat); the picture is written when the block ends."""
        if not can_draw():
            yield [_Nothing() for _ in range(rows * columns)]
            return
        import matplotlib as mpl
        from matplotlib.figure import Figure

        # A salt and no date: the same numbers give the same file.
        with mpl.rc_context({"svg.hashsalt": self.name, "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
            figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
            axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
            yield axes
            figure.savefig(self.folder / f"{self.name}-{key}.svg", metadata={"Date": None})
            figure.savefig(self.folder / f"{self.name}-{key}.png", dpi=120, metadata={"Software": None})

    def link(self, key: str, text: str) -> str:
        """The Markdown that shows a picture; without matplotlib, one that was drawn before, or a line in its place."""
        if not can_draw() and not (self.folder / f"{self.name}-{key}.svg").exists():
            return f"*({text}: not drawn, for want of matplotlib)*"
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
