"""A model of a user's own that is not quite right: one sentence says what it must do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xtrellis as xt

X = np.eye(3, dtype=np.float32)


class Forgetful(xt.Model):
    """Sets nothing that tells it is trained."""

    n_labels = property(lambda self: 3)  # type: ignore[assignment]

    def _train(self, data: Any, checkpoint: Any) -> None:
        pass

    def predict(self, X: Any, k: int = 10, *, texts: Any = None) -> Any:
        return [[0]] * X.shape[0]


class Lists(Forgetful):
    """Answers with lists."""

    _learned, _done = "_done", None

    def _train(self, data: Any, checkpoint: Any) -> None:
        self._done = True  # type: ignore[assignment]


class Half(xt.Model):
    """Has no methods."""


def test_training_that_leaves_nothing_behind() -> None:
    assert not Forgetful().fitted
    with pytest.raises(
        xt.InputError, match=r"Forgetful\._train must set _network, .* name another attribute with _lea"
    ):
        Forgetful().fit(X, X)
    with pytest.raises(xt.NotFittedError, match="this Forgetful is not trained yet"):
        Forgetful().save("nowhere")


def test_answers_that_are_no_topk() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), Lists()).fit(["a b", "b c"], [["x"], ["y"]])
    with pytest.raises(xt.InputError, match=r"Lists\.predict must return an xt\.TopK; got \[\[0\]\]"):
        tagger.tag("a")


def test_what_a_class_lacks_is_told() -> None:
    with pytest.raises(xt.ParameterError, match=r"Half is a base class: .* has _train, n_labels, predict"):
        Half()
