"""What a model can do beyond `fit` and `predict`: small protocols, found by `isinstance`.

Whoever stands on a model (a tagger, a ranker, an ensemble) asks these and nothing else. `texts` may be given to every
method; a model that reads none looks at the features alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from ..arrays import Csr, Float32, Int64, TopK
from ..data import TrainingData

if TYPE_CHECKING:
    from ..explain import Explanation
    from .estimate import Estimate
    from .model import Model


@runtime_checkable
class Scores(Protocol):
    """Scores labels that somebody else proposes."""

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """`labels` is n×L; its stored entries say which labels of each row to score. What `predict` gives for them."""


@runtime_checkable
class LeavesOut(Protocol):
    """Can answer for a row of its training data as if that row had not been there."""

    def left_out(self, data: TrainingData, rows: Int64, k: int) -> TopK:
        """The k best labels of some rows of what it was trained on, each without its own part in the training."""


@runtime_checkable
class KnowsUnseen(Protocol):
    """Can answer with labels that no training row has."""

    def unseen(self, data: TrainingData, k: int) -> TopK:
        """The k best labels of some rows, as if no row of the training had had any of them."""


@runtime_checkable
class Explains(Protocol):
    """Says why a row gets a label, or why not."""

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """`x` is one row, `texts` its text in a list; `label_counts` (rows per label) help to name clusters."""


@runtime_checkable
class Embeds(Protocol):
    """Turns rows into vectors."""

    def embed(self, X: Any, *, texts: Sequence[str] | None = None) -> Float32:
        """n × width."""


@runtime_checkable
class Estimates(Protocol):
    """Says what training will take."""

    def estimate(
        self, X: Any, Y: Any = None, *, label_names: Iterable[str] | None = None, label_features: Any = None
    ) -> Estimate:
        """Before it begins; quick and rough."""


@runtime_checkable
class Updates(Protocol):
    """Learns on: new rows, with labels old and new, without being trained anew."""

    def updated(self, data: TrainingData, fresh: Int64, again: Int64, checkpoint: Path | None = None) -> Model:
        """Another model that has learned from `data`: all rows, with a column for each label, new ones last.

        `fresh` are the numbers of the rows that this model has not seen, `again` those of labels that must be learned
        whatever has changed. The model itself stays as it is: whoever is asking it meanwhile is not disturbed. A model
        that `Resumes` writes finished work to `checkpoint`, if one is given, and goes on from what is there.
        """


@runtime_checkable
class Forgets(Protocol):
    """Remembers training rows, and can let some of them go at once."""

    def without(self, rows: Int64) -> Model:
        """Another model that does not remember the rows with these numbers."""


@runtime_checkable
class Relabels(Protocol):
    """Remembers training rows, and can give some of them other labels at once."""

    def relabelled(self, rows: Int64, Y: Csr) -> Model:
        """Another model that remembers the rows with these numbers, which rise, with the labels of Y's rows."""


@runtime_checkable
class Resumes(Protocol):
    """`fit(…, checkpoint=folder)` writes finished work there and goes on from what it holds."""

    keeps_checkpoints: Literal[True]


def restricts(model: Model) -> bool:
    """True if its `predict` takes `labels`, those that answers are restricted to."""
    return "labels" in signature(model.predict).parameters


def can_score(model: Model) -> bool:
    """True if it can score given labels: it and what it is made of."""
    return isinstance(model, Scores) and all(can_score(inner) for inner in model.inner_models())


def why_no_explanation(model: Model) -> str | None:
    """One sentence if a model, or one that it is made of, cannot explain its answers; else None."""
    if not isinstance(model, Explains):
        return f"a {type(model).__name__} cannot explain its answers"
    return next((why for inner in model.inner_models() if (why := why_no_explanation(inner)) is not None), None)


def why_no_update(model: Model) -> str | None:
    """One sentence if a model, or one that it is made of, cannot learn on; else None."""
    if not isinstance(model, Updates):
        return f"a {type(model).__name__} cannot learn on; `refresh` trains it again on all rows that are kept"
    return next((why for inner in model.inner_models() if (why := why_no_update(inner)) is not None), None)


def needs_all_rows(model: Model) -> bool:
    """True if to learn on it, or a model inside it, must be shown the rows that it knows as well as the new ones."""
    return not getattr(model, "learns_from_new_rows", False) or any(map(needs_all_rows, model.inner_models()))
