"""An ensemble that lives: its members learn on, forget rows, and give rows other labels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..arrays import Csr, Int64
from ..core import InputError
from ..data import TrainingData
from ..model import Forgets, Model, Relabels, Resumes, Updates, why_no_update
from ..store import Stages, content_hash
from .members import with_threads

if TYPE_CHECKING:
    from typing_extensions import Self

    from .ensemble import Ensemble


class LearnsOn:
    """The part of an `Ensemble` that changes after training."""

    @property
    def _whole(self) -> Ensemble:
        return self  # type: ignore[return-value]

    def updated(self, data: TrainingData, fresh: Int64, again: Int64, checkpoint: Path | None = None) -> Self:
        """See `Updates`: every member learns on; how they are weighed stays as it is."""
        outer = self._whole
        if (why := why_no_update(outer)) is not None:
            raise InputError(why)

        def learned(member: Model, at: Path | None) -> Model:
            inner = cast(Updates, with_threads(member, outer.threads))
            return inner.updated(data, fresh, again, at if isinstance(member, Resumes) else None)

        made_from = {} if checkpoint is None else {**outer.made_from(data), "model": content_hash(outer)}
        with Stages(checkpoint, made_from) as stages:
            members = tuple(
                stages.made(f"member{i}", Model, partial(learned, member))  # type: ignore[type-abstract]
                for i, member in enumerate(outer.members)
            )
        blend = None if outer._blend is None else outer._blend.for_labels(data.label_counts)
        return self._with(_members=members, _blend=blend)

    def without(self, rows: Int64) -> Self:
        """See `Forgets`: members that remember rows let these go."""
        return self._with(_members=tuple(m.without(rows) if isinstance(m, Forgets) else m for m in self._whole.members))

    def relabelled(self, rows: Int64, Y: Csr) -> Self:
        """See `Relabels`: members that remember rows give these other labels."""
        members = self._whole.members
        return self._with(_members=tuple(m.relabelled(rows, Y) if isinstance(m, Relabels) else m for m in members))

    def _with(self, **changed: Any) -> Self:
        """A copy with other members."""
        outer = self._whole
        other = outer.clone().set_params(threads=outer.threads)
        kept = {"_members": outer._members, "_curves": outer._curves, "_blend": outer._blend}
        vars(other).update({**kept, "_trained_with": outer._trained_with, **changed})
        return other  # type: ignore[return-value]
