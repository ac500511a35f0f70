"""Models inside models: named as parameters, made afresh, told the outer one's seed and threads, asked for scores."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import Check, part
from ..config import Configured
from ..errors import InputError, ParameterError, StoreError, shown
from ..index import Index
from ..linear import Estimate
from ..model import Model
from ..store.registry import resolve
from ..types import Array, Csr, Float32, TopK


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
    """An unfitted copy with another seed and number of threads, if it has such."""
    out = model.clone()
    _keep_names(model, out)
    if "seed" in out.get_params(deep=False):
        out.set_params(seed=seed)
    return with_threads(out, threads)


def _keep_names(model: Configured, clone: Configured) -> None:
    """An index may know the labels' names, which are no parameter: the clone gets a copy of the index itself."""
    for name, inner in model.get_params(deep=False).items():
        if isinstance(inner, Index):
            setattr(clone, name, copy.deepcopy(inner))
        elif isinstance(inner, Configured):
            _keep_names(inner, getattr(clone, name))
        elif isinstance(inner, (list, tuple)):
            for old, new in zip(inner, getattr(clone, name), strict=True):
                if isinstance(old, Configured):
                    _keep_names(old, new)


def with_threads(model: Model, threads: int | None) -> Model:
    """The model itself, told how many threads to use; None leaves it as it is."""
    if threads is not None and getattr(model, "threads", threads) != threads:
        model.set_params(threads=threads)
    return model


def trained(
    model: Model, X: Csr, Y: Csr, told: dict[str, Any], *, label_features: Any, checkpoint: Path | None
) -> Model:
    """`fit` with what the model has a use for; `told` are the texts, perhaps."""
    extra = dict(told) if model.reads_texts else {}
    for name, value in (("label_features", label_features), ("checkpoint", checkpoint)):
        if value is not None and model.fit_takes(name):
            extra[name] = value
    return model.fit(X, Y, **extra)


def asked(model: Model, X: Any, k: int, told: dict[str, Any], *, threads: int | None) -> TopK:
    """`predict`, with texts if the model reads them."""
    return with_threads(model, threads).predict(X, k, **(told if model.reads_texts else {}))


def estimated(model: Model, X: Csr, Y: Csr, label_features: Any) -> Estimate | None:
    """What training a member will take; None if it does not say, or not in terms of classifiers."""
    if not hasattr(model, "estimate"):
        return None
    takes = "label_features" in inspect.signature(model.estimate).parameters
    found = model.estimate(X, Y, **({"label_features": label_features} if takes else {}))
    return found if isinstance(found, Estimate) else None


def rows_of(texts: Any, rows: Array) -> dict[str, Any]:
    """The texts of some rows, as an argument for models that read texts; nothing if there are none."""
    return {} if texts is None else {"texts": [texts[int(i)] for i in rows]}


def check_texts(texts: Any, n: int) -> None:
    """One text a row, or none at all."""
    if isinstance(texts, str):
        raise InputError("texts must be a list of strings, one a row; got one string")
    if texts is not None and len(texts) != n:
        raise InputError(f"there must be one text for each row; got {len(texts)} texts and {n} rows")


def can_score(model: Model) -> bool:
    """True if it can score labels that somebody else proposes: it and what it is made of."""
    inside = getattr(model, "fitted_base", None)
    return hasattr(model, "score") and (inside is None or can_score(inside))


def scores_of(model: Model, X: Any, pairs: Csr, told: dict[str, Any]) -> Float32:
    """What a model that can says of given pairs, in their order."""
    extra = told if model.reads_texts else {}
    given: Csr = model.score(X, pairs, **extra)  # type: ignore[attr-defined]  # can_score has looked
    return np.asarray(given.data, np.float32)
