"""`reliability`: do probabilities mean what they say? Of answers that claim 70%, seven in ten should be right."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Float64, Int64, TopK, as_labels, is_right
from ..core import InputError, MissingExtraError, clear_calls, integer, require

if TYPE_CHECKING:
    from rich.table import Table

BINS = 15


@clear_calls
@dataclass(frozen=True, eq=False)
class Reliability:
    """Answers in bins of equal width by what they claim."""

    k: int
    counts: Int64  # answers in each bin
    claimed: Float64  # mean probability
    right: Float64  # share that is right
    brier: float  # mean squared difference between claim and truth

    @property
    def ece(self) -> float:
        """Expected calibration error: by how much claim and truth differ, on average over answers."""
        total = int(self.counts.sum())
        return float((np.abs(self.claimed - self.right) * self.counts).sum() / total) if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        bins = [
            {"answers": int(n), "claimed": float(p), "right": float(r)}
            for n, p, r in zip(self.counts, self.claimed, self.right, strict=True)
        ]
        return {"k": self.k, "ece": self.ece, "brier": self.brier, "bins": bins}

    def render(self) -> Table:
        """A table for a rich console."""
        from rich.table import Table

        table = Table(caption=f"first {self.k} answers; ECE {self.ece:.3f}, Brier {self.brier:.3f}")
        for name in ("answers", "claimed", "right"):
            table.add_column(name, justify="right")
        for n, p, r in zip(self.counts, self.claimed, self.right, strict=True):
            if n:
                table.add_row(f"{n:,}", f"{p:.1%}", f"{r:.1%}")
        return table

    __rich__ = render

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the diagram: claimed against right, and how many answers claim what. The ending names the format."""
        self.check_path(path)
        from matplotlib.figure import Figure

        there = self.counts > 0
        figure = Figure(figsize=(4.5, 5))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        upper.plot([0, 1], [0, 1], color="grey", linewidth=1)
        upper.plot(self.claimed[there], self.right[there], marker="o")
        upper.set_ylabel("right")
        upper.set_title(f"first {self.k} answers: ECE {self.ece:.3f}, Brier {self.brier:.3f}", fontsize=10)
        lower.bar(self.claimed[there], self.counts[there], width=0.8 / len(self.counts))
        lower.set(yscale="log", xlabel="claimed", ylabel="answers")
        figure.tight_layout()
        try:
            figure.savefig(path)
        except OSError as error:
            raise InputError(f"cannot draw to {path}: {error}") from None

    @staticmethod
    def check_path(path: str | os.PathLike[str]) -> None:
        """Refuse what `plot` cannot draw to, before the work: the ending is no format, the folder is not there."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise MissingExtraError("matplotlib", "bench", "drawing a reliability diagram") from None
        path = Path(path)
        ending = path.suffix[1:].lower()
        if ending and ending not in Figure().canvas.get_supported_filetypes():
            raise InputError(
                f"cannot draw to {path}: .{ending} is no format of pictures; let it end in .png, .svg or .pdf"
            )
        if not path.parent.is_dir():
            raise InputError(f"cannot draw to {path}: there is no folder {path.parent}")


@clear_calls
def reliability(Y_true: Any, predictions: TopK, *, k: int = 10, bins: int = BINS) -> Reliability:
    """How well the scores of the first k answers of each row, as probabilities, agree with what is right."""
    require(predictions, TopK, "predictions", "a TopK, what predict gives")
    integer(at_least=1)("k", k)
    integer(at_least=1, at_most=1000)("bins", bins)
    Y = as_labels(Y_true, name="Y_true", n_labels=predictions.n_labels if isinstance(Y_true, (list, tuple)) else None)
    if Y.shape != (len(predictions), predictions.n_labels):
        raise InputError(
            f"Y_true has {Y.shape[0]} rows and {Y.shape[1]} labels; the predictions are of {len(predictions)} rows and "
            f"{predictions.n_labels} labels"
        )
    labels, scores = predictions.labels[:, :k], predictions.scores[:, :k].astype(np.float64)
    there = labels >= 0
    claimed, right = scores[there], is_right(np.ascontiguousarray(labels), Y)[there]
    if len(claimed) and not (claimed.min() >= 0 and claimed.max() <= 1):
        raise InputError(
            f"probabilities lie between 0 and 1; these scores reach from {claimed.min():.3g} to {claimed.max():.3g}"
        )
    place = np.minimum((claimed * bins).astype(np.int64), bins - 1)
    counts = np.bincount(place, minlength=bins)
    per = np.maximum(counts, 1)
    return Reliability(
        k=k,
        counts=counts.astype(np.int64),
        claimed=np.bincount(place, claimed, bins) / per,
        right=np.bincount(place, right, bins) / per,
        brier=float(((claimed - right) ** 2).mean()) if len(claimed) else 0.0,
    )
