"""How statistics look in a terminal; apart, so that only those who print load rich."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .describe import TAIL, Spread, Stats

_BLOCKS = " ▏▎▍▌▋▊▉█"
_WIDTH = 40


def render(stats: Stats) -> RenderableType:
    """A table of numbers above a histogram of rows per label."""
    table = Table(title=stats.name or None, show_header=False, box=None, pad_edge=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("rows", f"{stats.rows:,}", "")
    table.add_row("labels", f"{stats.labels:,}", f"{stats.labels_without_rows:,} without rows")
    if stats.features_per_row is not None:
        table.add_row("features", f"{stats.features:,}", f"{stats.features_without_rows:,} without rows")
    table.add_row("labels per row", _mean(stats.labels_per_row), _spread(stats.labels_per_row))
    table.add_row("rows per label", _mean(stats.rows_per_label), _spread(stats.rows_per_label))
    if stats.features_per_row is not None:
        table.add_row("features per row", _mean(stats.features_per_row), _spread(stats.features_per_row))
    if stats.text_characters is not None:
        table.add_row("characters per text", _mean(stats.text_characters), _spread(stats.text_characters))
    share = f"of the labels have at most {TAIL} rows; they make {stats.tail_entries:.1%} of all entries"
    table.add_row("tail", f"{stats.tail_labels:.1%}", share)
    nothing = "features" if stats.features_per_row is not None else "text"
    table.add_row(
        "empty rows",
        f"{stats.rows_without_labels:,}",
        f"without labels; {stats.rows_without_features:,} without {nothing}",
    )
    if stats.dropped_labels:
        table.add_row("left out", f"{stats.dropped_labels:,}", "labels that are not among the known names")
    return Group(table, Text(), _histogram(stats)) if stats.histogram else table


def _histogram(stats: Stats) -> RenderableType:
    most = max(bin.labels for bin in stats.histogram)
    chart = Table(title="labels by number of rows", show_header=False, box=None, pad_edge=False, title_justify="left")
    chart.add_column(justify="right", style="bold", no_wrap=True)
    chart.add_column(no_wrap=True)
    chart.add_column(justify="right", no_wrap=True)
    for bin in stats.histogram:
        rows = str(bin.first) if bin.first == bin.last else f"{bin.first:,}–{bin.last:,}"
        chart.add_row(rows, bar(bin.labels / most), f"{bin.labels:,}")
    return chart


def bar(share: float) -> str:
    """A bar of eighths of blocks; anything above zero shows."""
    eighths = max(round(share * _WIDTH * 8), 1 if share > 0 else 0)
    return _BLOCKS[8] * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")


def _mean(spread: Spread) -> str:
    return f"{spread.mean:,.1f}"


def _spread(spread: Spread) -> str:
    return f"median {spread.median:,.0f}, from {spread.min:,} to {spread.max:,}"
