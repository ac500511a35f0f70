"""The loop that every neural model is trained by: epochs, validation rows, learning curves, early stopping, going on.

A `TrainingTask` knows how to run one epoch and how to hand over its state; the loop knows when to stop, what to keep.
With a checkpoint, the state after each epoch is on disk before the next begins, and since randomness is keyed by the
epoch, a training that goes on ends with the same model as one that was never stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...arrays import Array
from ...core import StoreError, TrainingError, progress
from ...store import Checkpoint

Curves = list[dict[str, float]]  # one entry an epoch
_CURVES = ("epoch", "loss", "regularizer", "train_p1", "validation_p1", "seconds")


class TrainingTask(Protocol):
    """What is trained."""

    def epoch(self, epoch: int) -> Iterator[tuple[int, float, float]]:
        """One pass over the rows: yields (rows, loss a row, regulariser) of each batch after its step."""

    def measure(self) -> dict[str, float]:
        """Validation and training quality now: `validation_p1` if there are validation rows, `train_p1`."""

    def arrays(self) -> dict[str, Array]:
        """The whole state, without copying."""

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from a state."""


class Loop:
    """Runs a task for some epochs. Afterwards the task holds the best state, and `curves` how it went."""

    def __init__(
        self, task: TrainingTask, *, epochs: int, patience: int | None, rows: int, more: tuple[str, ...] = ()
    ) -> None:
        self.task, self.epochs, self.patience, self.rows = task, epochs, patience, rows
        self.names = (*_CURVES, *more)
        self.curves: Curves = []

    def run(self, *, checkpoint: Path | None, made_from: Mapping[str, Any]) -> None:
        """Train, or go on with what the checkpoint holds."""
        with ExitStack() as stack:
            saved = None
            if checkpoint is not None:
                saved = stack.enter_context(Checkpoint(checkpoint, made_from))
                self._resume(saved)
            best = self._best_saved(saved) or self._copy()
            while len(self.curves) < self.epochs and not self._stale():
                try:
                    self._epoch(len(self.curves))
                except TrainingError as error:
                    self._give_up(best, error)
                if self._is_best():
                    best = self._copy()
                if saved is not None:
                    self._save(saved)
            if self._validated() and self.best_epoch() != len(self.curves) - 1:
                self.task.restore(best)

    def best_epoch(self) -> int:
        """The epoch (from 0) whose state is kept: the best on validation rows, or the last."""
        if not self._validated():
            return len(self.curves) - 1
        return int(np.argmax([point["validation_p1"] for point in self.curves]))

    def _epoch(self, epoch: int) -> None:
        began = time.monotonic()
        losses, penalties, seen = 0.0, 0.0, 0
        with progress.step(f"epoch {epoch + 1}", total=self.rows, unit="rows") as advance:
            for batch, (rows, loss, penalty) in enumerate(self.task.epoch(epoch)):
                if not (math.isfinite(loss) and math.isfinite(penalty)):
                    raise TrainingError(
                        f"the loss became {loss if math.isfinite(penalty) else penalty} in epoch {epoch + 1}, "
                        f"batch {batch + 1}"
                    )
                losses, penalties, seen = losses + rows * loss, penalties + rows * penalty, seen + rows
                advance(rows)
        point = {"epoch": float(epoch + 1), "loss": losses / max(seen, 1), "regularizer": penalties / max(seen, 1)}
        point |= self.task.measure()
        point["seconds"] = time.monotonic() - began
        self.curves.append(point)
        told = ", ".join(f"{name.replace('_', ' ')} {point[name]:.4g}" for name in self.names[1:] if name in point)
        progress.note(f"epoch {epoch + 1}: {told}")

    def _give_up(self, best: dict[str, Array], error: TrainingError) -> None:
        """A loss that is no number has spoilt the state: put the last good one back, and say so."""
        self.task.restore(best)
        kept = (
            f"the model keeps its state after epoch {self.best_epoch() + 1}" if self.curves else "nothing was learned"
        )
        raise TrainingError(f"{error}; {kept}. A smaller learning_rate usually helps") from None

    def _copy(self) -> dict[str, Array]:
        return {name: array.copy() for name, array in self.task.arrays().items()}

    def _validated(self) -> bool:
        return bool(self.curves) and "validation_p1" in self.curves[0]

    def _is_best(self) -> bool:
        return self.best_epoch() == len(self.curves) - 1

    def _stale(self) -> bool:
        if self.patience is None or not self._validated():
            return False
        return len(self.curves) - 1 - self.best_epoch() >= self.patience

    def _save(self, saved: Checkpoint) -> None:
        points = np.array([[point.get(name, np.nan) for name in self.names] for point in self.curves])
        if self._is_best():
            saved.put("state.best", self.task.arrays())
        # Two places in turn: until the new state is whole, the one before it stays.
        saved.put(f"state.{len(self.curves) % 2}", {"curves": points, **self.task.arrays()})

    def _resume(self, saved: Checkpoint) -> None:
        found = [state for state in (saved.get("state.0"), saved.get("state.1")) if state and "curves" in state]
        if not found:
            return
        last = max(found, key=lambda state: len(state["curves"]))
        wanted = {name: (a.dtype, a.shape) for name, a in self.task.arrays().items()}
        if {name: (a.dtype, a.shape) for name, a in last.items() if name != "curves"} != wanted:
            raise StoreError(f"the state in {saved.path} does not fit this model; delete the folder to start anew")
        self.curves = [
            {name: float(value) for name, value in zip(self.names, row, strict=True) if not math.isnan(value)}
            for row in last["curves"]
        ]
        self.task.restore(last)
        progress.note(f"going on after epoch {len(self.curves)}")

    def _best_saved(self, saved: Checkpoint | None) -> dict[str, Array] | None:
        """A copy of the best state so far, unless the last one is the best."""
        if saved is None or not self.curves or self._is_best():
            return None
        state = saved.get("state.best")
        if state is None:  # damaged: the last state is the best there is
            return None
        return {name: array.copy() for name, array in state.items()}


class SteadyLoop(Loop):
    """Later epochs are better but for chance, as the rate of learning falls and weights are averaged: an earlier one is
    kept only if validation rows say so by more than one standard error. Of 400 rows, P@1 is only known to 2.5 points.
    """

    n_validation = 0  # rows that quality is measured on
    first = 0  # epochs that cannot be the best

    def best_epoch(self) -> int:
        """The epoch (from 0) whose state is kept."""
        last = len(self.curves) - 1
        if not self._validated() or last < self.first:
            return last
        points = self.curves[self.first :]
        scores = np.array([self.score(point) for point in points])
        p = points[int(scores.argmax())]["validation_p1"] / 100
        chance = 100 * math.sqrt(max(p * (1 - p), 0) / max(1, self.n_validation))
        return self.first + int(np.flatnonzero(scores >= scores.max() - chance)[-1])

    def score(self, point: Mapping[str, float]) -> float:
        """What makes an epoch a good one."""
        return point["validation_p1"]

    def _stale(self) -> bool:
        return len(self.curves) > self.first and super()._stale()
