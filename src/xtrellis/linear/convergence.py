"""`Convergence`: what the solver had to do: how long classifiers took, and how many were not solved."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import Int32, UInt8
from ..core import progress


@dataclass
class Convergence:
    """Summed over the classifiers trained in this run; what a checkpoint already held is not among them."""

    nodes: int = 0
    classifiers: int = 0
    unsolved: int = 0  # classifiers for which max_epochs were too few
    epochs: int = 0  # passes over a node's rows, summed over classifiers; all of a group of up to 32 count its passes

    def add(self, epochs: Int32, converged: UInt8, *, first: bool) -> None:
        """A block is done; the first one of a node counts the node."""
        self.nodes += first
        self.classifiers += len(epochs)
        self.unsolved += len(converged) - int(converged.sum())
        self.epochs += int(epochs.sum())

    @property
    def mean_epochs(self) -> float:
        """A classifier's, on average."""
        return self.epochs / max(1, self.classifiers)

    def report(self, *, max_epochs: int, tolerance: float) -> None:
        """A line for whoever listens, if something was not solved: what, and what to do about it."""
        if not self.unsolved:
            return
        share = 100 * self.unsolved / self.classifiers
        progress.note(
            f"{self.unsolved:,} of {self.classifiers:,} classifiers ({share:.3g} %) were not solved within "
            f"max_epochs={max_epochs} ({self.mean_epochs:.1f} were taken on average); the model can be used, but a "
            f"larger max_epochs, or a tolerance above {float(tolerance):g}, would let them converge"
        )
