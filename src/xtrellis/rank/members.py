"""Models inside models: named as parameters, made afresh, told the outer one's seed and threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..arrays import Csr, Float32, Int64, TopK, as_texts, take_rows
from ..core import Check, Configured, InputError, ParameterError, StoreError, part, shown
from ..data import TrainingData
from ..model import Model, Resumes, Scores, restricts
from ..store import resolve


class model_part(part):  # noqa: N801 - reads as a word in a declaration
    """A model. Its class is found by name among those that can be stored, so that nothing else need be loaded."""

    def __init__(self) -> None:
        super().__init__(Model)

    def _named(self, name: str, wanted: Any) -> type[Configured]:
        try:
            found = resolve(wanted) if isinstance(wanted, str) else None
        except StoreError:
            found = None
        if found is None or not issubclass(found, Model):
            raise ParameterError(f"{name} must be the class of a model, such as LinearTree; got {shown(wanted)}")
        return found


class model_parts(Check):  # noqa: N801
    """A list of models."""

    requirement = "a list of at least one model"

    def holds(self, value: Any) -> bool:
        """A list or tuple of models, not empty."""
        return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(m, Model) for m in value)

    def read(self, text: str) -> Any:
        """Class names with commas between."""
        return [model_part().parse("models", word.strip()) for word in text.split(",")]

    def from_json(self, name: str, value: Any) -> Any:
        """Every one as `model_part` has it."""
        if not isinstance(value, list):
            raise ParameterError(f"{name} must be a list; got {shown(value)}")
        return [model_part().from_json(name, item) for item in value]


def fresh(model: Model, *, seed: int, threads: int | None) -> Model:
    """An unfitted copy with another seed and number of threads."""
    return with_threads(model.clone().set_params(seed=seed), threads)


def with_threads(model: Model, threads: int | None) -> Model:
    """The model itself, told how many threads to use; None leaves it as it is."""
    if threads is not None and model.threads != threads:
        model.set_params(threads=threads)
    return model


def trained(model: Model, data: TrainingData, checkpoint: Path | None) -> Model:
    """`fit`, with a checkpoint if the model keeps such."""
    return model.fit(data, checkpoint=checkpoint if isinstance(model, Resumes) else None)


def asked(
    model: Model, X: Any, k: int, texts: Sequence[str] | None, *, threads: int | None, labels: Any = None
) -> TopK:
    """`predict`; of a model that can, among some labels."""
    given = {} if labels is None or not restricts(model) else {"labels": labels}
    return with_threads(model, threads).predict(X, k, texts=texts, **given)


def scores_of(model: Model, X: Any, pairs: Csr, texts: Sequence[str] | None) -> Float32:
    """What a model that can (`can_score`) says of given pairs, in their order."""
    return np.asarray(cast(Scores, model).score(X, pairs, texts=texts).data, np.float32)


def n_rows_of(X: Any, texts: Any) -> int:
    """Of what users give to predict for; X may be None if all members read texts."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, (list, tuple)):
        return len(X)
    if X is None and texts is not None:
        return len(as_texts(texts))
    raise InputError(f"X must be a scipy sparse matrix or a NumPy array; got {type(X).__name__}")


def some_rows(X: Any, texts: Sequence[str] | None, rows: Int64, k: int) -> tuple[Any, int, Sequence[str] | None]:
    """Some of the rows, as `predict` takes them."""
    return None if X is None else take_rows(X, rows), k, None if texts is None else [texts[i] for i in rows.tolist()]


def check_alike(members: Sequence[Model]) -> None:
    """Refuse members that know different labels."""
    sizes = sorted({member.n_labels for member in members})
    if len(sizes) != 1:
        raise InputError(f"the members of an ensemble must know the same labels; they have {sizes}")
