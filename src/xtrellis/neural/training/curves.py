"""Learning curves: stored with the model as one small array, drawn on demand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...core import InputError, MissingExtraError, StoreError
from .loop import Curves

NAMES = (
    "epoch",
    "loss",
    "regularizer",
    "train_p1",
    "validation_p1",
)  # not the seconds: a model is the same wherever made


def to_array(curves: Curves, names: Sequence[str] = NAMES) -> Array:
    """One row an epoch; NaN where nothing was measured."""
    return np.array([[point.get(name, math.nan) for name in names] for point in curves]).reshape(-1, len(names))


def from_array(array: Array, names: Sequence[str] = NAMES) -> Curves:
    """The inverse of `to_array`."""
    if array.ndim != 2 or array.shape[1] != len(names) or array.dtype != np.float64:
        raise StoreError(f"learning curves must be epochs × {len(names)} float64; got {array.dtype} {array.shape}")
    return [
        {name: float(value) for name, value in zip(names, row, strict=True) if not math.isnan(value)} for row in array
    ]


def plot(curves: Curves, path: str | Path) -> None:
    """Precision of training and validation rows, loss and regulariser by epoch; the name's ending says the format."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "bench", "drawing learning curves") from None
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, style in (("train_p1", "o-"), ("validation_p1", "s-")):
        _line(left, curves, name, style)
    for name, style in (("loss", "o-"), ("regularizer", "^--")):
        _line(right, curves, name, style)
    left.set_ylabel("P@1 (%)")
    for axes in (left, right):
        axes.set_xlabel("epoch")
        axes.grid(alpha=0.3)
        axes.legend()
    try:
        figure.savefig(path)
    except (ValueError, OSError) as error:  # an ending that is no format, a folder that is not there
        raise InputError(f"cannot draw to {path}: {error}") from None


def _line(axes: Any, curves: Curves, name: str, style: str) -> None:
    points = [(point["epoch"], point[name]) for point in curves if name in point]
    if points:
        axes.plot(*zip(*points, strict=True), style, label=name.replace("_p1", "").replace("_", " "), markersize=3)
