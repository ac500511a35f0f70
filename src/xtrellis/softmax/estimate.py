"""What training a `SoftmaxTree` will take, before it begins."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..checks import size_text
from ..index import FlatTree, Index
from ..types import Csr

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class SoftmaxEstimate:
    """Bytes and counts."""

    rows: int
    features: int
    labels: int
    model_bytes: int
    matrices_bytes: int  # X and Y themselves

    @property
    def peak_bytes(self) -> int:
        """The most that is in use at once: the vectors are there twice when training ends."""
        return self.matrices_bytes + 2 * self.model_bytes

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return {**asdict(self), "peak_bytes": self.peak_bytes}

    def render(self) -> RenderableType:
        """A line for people."""
        from rich.text import Text

        return Text(str(self))

    def __str__(self) -> str:
        return (
            f"expected: {self.features:,} embeddings, {self.labels:,} labels; memory about "
            f"{size_text(self.peak_bytes)} (the data itself {size_text(self.matrices_bytes)}); "
            f"model about {size_text(self.model_bytes)}"
        )


def estimate(X: Csr, Y: Csr, dim: int, index: Index) -> SoftmaxEstimate:
    """A tree of two children a node has one vector less than it has labels; wider ones have somewhat more."""
    n_labels = int(Y.shape[1])
    units = n_labels if isinstance(index, FlatTree) else 1.1 * n_labels
    return SoftmaxEstimate(
        rows=int(X.shape[0]),
        features=int(X.shape[1]),
        labels=n_labels,
        model_bytes=int(4 * dim * (int(X.shape[1]) + 1 + units)),
        matrices_bytes=sum(int(m.indptr.nbytes + m.indices.nbytes + m.data.nbytes) for m in (X, Y)),
    )
