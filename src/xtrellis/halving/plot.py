"""A picture of a tuning: a panel a parameter, a dot a candidate, larger for more rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core import InputError, MissingExtraError

ACROSS = 3  # panels


def check_picture(path: Path) -> None:
    """Refuse what cannot be drawn to, before the work."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing a tuning") from None
    ending = path.suffix[1:].lower()
    if ending and ending not in Figure().canvas.get_supported_filetypes():
        raise InputError(f"cannot draw to {path}: .{ending} is no format of pictures; let it end in .png, .svg or .pdf")
    if not path.parent.is_dir():
        raise InputError(f"cannot draw to {path}: there is no folder {path.parent}")


def draw(trials: Sequence[Any], metric: str, path: Path) -> None:
    """Scores of all candidates by the value of each parameter; the best one is marked."""
    check_picture(path)
    from matplotlib.figure import Figure

    names = sorted({name for trial in trials for name in trial.params})
    down = max(1, -(-len(names) // ACROSS))
    figure = Figure(figsize=(3.2 * ACROSS, 2.6 * down), layout="constrained")
    panels = figure.subplots(down, ACROSS, squeeze=False).ravel()
    most = max(trial.rows for trial in trials)
    for panel, name in zip(panels, names, strict=False):
        there = [trial for trial in trials if name in trial.params]
        values = [trial.params[name] for trial in there]
        plain = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        places = values if plain else [str(value) for value in values]
        panel.scatter(
            places, [trial.score for trial in there], s=[8 + 40 * trial.rows / most for trial in there], alpha=0.6
        )
        if trials[0] in there:
            panel.scatter(places[there.index(trials[0])], trials[0].score, marker="x", color="black", zorder=3)
        if plain and min(values) > 0 and max(values) >= 20 * min(values):
            panel.set_xscale("log")
        panel.set(xlabel=name.replace("__", "."), ylabel=metric)
        panel.grid(alpha=0.3)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"cannot draw to {path}: {error}") from None
