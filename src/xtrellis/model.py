"""What every model is: parameters, `fit`, `predict`, `save`. One contract test holds for all of them."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import store
from .checks import integer
from .config import Configured
from .errors import InputError, NotFittedError
from .store import Storable
from .types import Csr, Int32, Int64, TopK

if TYPE_CHECKING:
    from typing_extensions import Self


class Model(Configured, Storable):
    """A classifier from features to a ranked list of labels."""

    @abstractmethod
    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from n×d features and n×L labels (sparse or dense, any numeric dtype)."""

    @abstractmethod
    def predict(self, X: Any, k: int = 10) -> TopK:
        """The k best labels of each row."""

    @property
    @abstractmethod
    def fitted(self) -> bool:
        """True after `fit` or loading."""

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""

    @property
    def reads_texts(self) -> bool:
        """True if `fit` and `predict` want `texts=` beside the features."""
        return False

    def fit_takes(self, name: str) -> bool:
        """True if `fit` has a use for this keyword: `checkpoint`, `label_features` …"""
        return name in inspect.signature(self.fit).parameters

    def unseen_rows(self, Y: Csr) -> Int32:
        """Rows with labels that training on Y will leave out by itself, so that no classifier learns from them.

        Who stands on the model (a calibration) can learn from them how good it really is. Often there are none.
        """
        return np.zeros(0, np.int32)

    def save(self, path: str | Path) -> None:
        """Write the model as a folder, whole or not at all; an existing model there is replaced only when done."""
        self._require_fitted()
        store.save(self, path)

    def _require_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError(
                f"this {type(self).__name__} is not trained yet; call fit first, or xt.load a saved one"
            )


_K = integer(at_least=1)


def check_k(k: Any) -> int:
    """`k` as given to predict: an integer of at least 1."""
    if type(k) is int and k >= 1:  # a single query notices the microsecond of the full check
        return k
    _K("k", k)
    return int(k)


def check_label_ids(labels: Any, n_labels: int) -> Int64:
    """`labels` as given to predict: ids of at least one of `n_labels` labels, ascending and each once."""
    ids = np.unique(np.asarray(labels))
    if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
        raise InputError("labels must be a list of at least one label id")
    if ids[0] < 0 or ids[-1] >= n_labels:
        bad = ids[0] if ids[0] < 0 else ids[-1]
        raise InputError(f"labels must be ids from 0 to {n_labels - 1}; got {bad}")
    return ids.astype(np.int64)
