"""What a stored tagger holds, checked: parts and arrays that fit together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..arrays import Int64, StringTable
from ..core import StoreError
from ..model import Model
from ..store import State
from ..vocabulary import Vocabulary
from .labels import stored_numbers, stored_vocabulary
from .likely import check_curves
from .living import REPLACED, Life

if TYPE_CHECKING:
    from ..rank import Probabilities

PARTS = {"model", "vectorizer", "probabilities", "vocabulary", "rows"}


class Stored(NamedTuple):
    """The vectoriser is checked by the tagger itself."""

    model: Model
    vectorizer: Any
    curves: Probabilities | None
    names: StringTable
    counts: Int64
    n_rows: int
    about: dict[str, Any]
    features: str | None  # a hash of the features' names
    vocabulary: Vocabulary | None
    language: str | None
    numbers: Int64 | None  # of the labels in the vocabulary
    life: Life


def stored(params: Mapping[str, Any], state: State) -> Stored:
    """From the store, or an error that says what does not fit."""
    model, curves = state.parts.get("model"), state.parts.get("probabilities")
    others = {name for name in state.parts if name not in PARTS and not REPLACED.match(name)}
    if params or others or not isinstance(model, Model):
        raise StoreError("a Tagger holds a part 'model', perhaps a part 'vectorizer', and no parameters of its own")
    check_curves(curves)
    names, counts, n_rows = (
        StringTable.from_arrays(state.arrays, "labels"), state.arrays.get("label_counts"), state.meta.get("n_rows")
    )  # fmt: skip
    if len(names) != model.n_labels:
        raise StoreError(f"the model has {model.n_labels} labels, but there are {len(names)} names")
    if counts is None or counts.dtype != np.int64 or counts.shape != (len(names),):
        raise StoreError(f"label_counts must be {len(names)} numbers of type int64")
    if not isinstance(n_rows, int) or n_rows < 0 or (len(counts) and not 0 <= counts.min() <= counts.max() <= n_rows):
        raise StoreError(f"label_counts must lie between 0 and n_rows, an integer; n_rows is {n_rows!r}")
    about, features = state.meta.get("about", {}), state.meta.get("feature_names")
    if not isinstance(about, dict):
        raise StoreError(f"about must be an object; got {about!r:.80}")
    if not isinstance(features, str | None):
        raise StoreError(f"feature_names must be a hash of names; got {features!r:.80}")
    life = Life.stored(state, len(names))
    known = cast("Probabilities | None", curves)
    vocabulary, language = stored_vocabulary(state.parts.get("vocabulary"), state.meta.get("language"))
    numbers = None
    if vocabulary is not None:
        numbers = stored_numbers(state.arrays.get("label_numbers"), len(names), vocabulary)
    return Stored(
        model, state.parts.get("vectorizer"), known, names, counts, n_rows, about, features, vocabulary, language,
        numbers, life,
    )  # fmt: skip
