"""`Estimate`: what a training will take, before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from ..core import ParameterError, clear_calls, n_bytes, require, size_text
from ..data import TrainingData

if TYPE_CHECKING:
    from rich.console import RenderableType
    from typing_extensions import Self


MANIFEST_BYTES = 2500  # of an object on disk: its parameters, and where its arrays are


@clear_calls
@dataclass(frozen=True)
class Estimate:
    """Bytes and counts, quick and rough. The memory of the interpreter itself is not part of it."""

    rows: int
    features: int
    labels: int
    matrices_bytes: int  # the data itself
    training_bytes: int  # the most that training takes beside it
    model_bytes: int
    classifiers: int = 0
    visits: int = 0  # rows × nodes they are trained at
    seconds: int = 0  # of one usual core, within a factor of three; 0 if the model does not say

    @classmethod
    def of(cls, data: TrainingData, *, training_bytes: int, model_bytes: int) -> Estimate:
        """Of a training on this data."""
        require(data, TrainingData, "data", "an xt.TrainingData")
        return Estimate(data.n_rows, data.n_features, data.n_labels, data.n_bytes, training_bytes, model_bytes)

    @property
    def peak_bytes(self) -> int:
        """The most that is in use at once."""
        return self.matrices_bytes + self.training_bytes

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return {**asdict(self), "peak_bytes": self.peak_bytes}

    def with_parts(self, n_bytes: int) -> Self:
        """The same with so many more bytes on disk: names, a vectoriser."""
        sizes = [name for name in ("model_bytes", "model_bytes_at_most") if hasattr(self, name)]
        return replace(self, **{name: getattr(self, name) + n_bytes for name in sizes})

    def require(self, limit: int | str | None, cure: str) -> None:
        """A ParameterError if it does not fit into `memory_limit`."""
        if limit is not None and self.peak_bytes > n_bytes(limit):
            raise ParameterError(
                f"memory_limit is {limit}, but this training needs about {size_text(self.peak_bytes)} "
                f"(data {size_text(self.matrices_bytes)}); raise the limit, or {cure}"
            )

    def render(self) -> RenderableType:
        """A few lines for people."""
        from rich.text import Text

        return Text(str(self))

    def __str__(self) -> str:
        work = f"{self.classifiers:,} classifiers, {self.visits:,} visits of rows to nodes; " if self.visits else ""
        return (
            f"expected: {work}memory about {size_text(self.peak_bytes)} (the data itself "
            f"{size_text(self.matrices_bytes)}); model about {size_text(self.model_bytes)}"
        )


def one_after_another(members: Sequence[Estimate]) -> Estimate:
    """Of models that are trained in turn and kept."""
    common = {field.name: max(getattr(m, field.name) for m in members) for field in fields(Estimate)}
    for name in ("classifiers", "visits", "model_bytes", "seconds"):
        common[name] = sum(getattr(member, name) for member in members)
    if not all(member.seconds for member in members):
        common["seconds"] = 0
    before = 0
    for member in members:
        common["training_bytes"] = max(common["training_bytes"], before + member.training_bytes)
        before += member.model_bytes
    return Estimate(**common)


def with_part(base: Estimate, *, training_bytes: int, model_bytes: int, classifiers: int, visits: int) -> Estimate:
    """Of a model and a part that is trained when the model is there."""
    plain = Estimate(**{field.name: getattr(base, field.name) for field in fields(Estimate)})
    return replace(
        plain,
        training_bytes=max(base.training_bytes, base.model_bytes + training_bytes),
        model_bytes=base.model_bytes + model_bytes,
        classifiers=base.classifiers + classifiers,
        visits=base.visits + visits,
        seconds=3 * base.seconds,  # to be ranked, rows are answered by a base that has not seen them
    )
