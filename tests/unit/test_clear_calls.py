"""Whatever is public refuses names and numbers of arguments that it does not have in words, and names the cure."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.core import CallError, Configured, clear_calls, flag, param, part

X, Y = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
# Errors and tuples are Python's own kinds; models of a base class cannot be made at all.
PLAIN = {"Tag", "Tags", "ProgressEvent"} | {
    name for name in xt.__all__ if isinstance(thing := getattr(xt, name), type) and issubclass(thing, Exception)
}


@pytest.mark.parametrize("name", [n for n in xt.__all__ if callable(getattr(xt, n)) and n not in PLAIN])
def test_everything_public_tells_unknown_names(name: str) -> None:
    with pytest.raises(xt.ParameterError, match=r"has no (argument|parameter) 'nonsense'|needs|base class") as caught:
        getattr(xt, name)(nonsense=1)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xt.read("a.csv", txt_column="body"), "read has no argument 'txt_column'; did you mean 'text_column'?"),
        (lambda: xt.read(), "read needs path: read(path=…)"),
        (
            lambda: xt.read("a", "csv"),
            "read takes path by place, and what else there is by name, such as format=…; got 2",
        ),
        (lambda: xt.read("a", path="b"), "read got path twice: 'a' and 'b'"),
        (lambda: xt.load("a", verfy=True), "load has no argument 'verfy'; did you mean 'verify'?"),
        (lambda: xt.evaluate(Y, metric="P@1"), "evaluate has no argument 'metric'; did you mean 'metrics'?"),
        (lambda: xt.metrics.compare(Y, n_jobs=2), "compare has no argument 'n_jobs'"),
        (lambda: xt.LinearTree().fit(X), "training needs labels: fit(X, Y)"),
        (lambda: xt.LinearTree().fit(X, y=Y), "LinearTree.fit has no argument 'y'; here it is called 'Y'"),
        (lambda: xt.LinearTree().fit(X, Y, X), "LinearTree.fit takes X, Y by place, and what else there is by name"),
        (
            lambda: xt.LinearTree().predict(X, top_k=3),
            "LinearTree.predict has no argument 'top_k'; here it is called 'k'",
        ),
        (lambda: xt.LinearTree().set_params(1), "LinearTree.set_params takes nothing by place and nothing else"),
        (lambda: xt.Tagger(), "Tagger needs vectorizer and model: Tagger(vectorizer=…, model=…)"),
        (lambda: xt.Tagger.of_model(modle=1), "Tagger.of_model has no argument 'modle'; did you mean 'model'?"),
        (lambda: xt.Dataset(X, Y, txts=[]), "Dataset has no argument 'txts'; did you mean 'texts'?"),
        (lambda: xt.LabelTree.from_parents(), "LabelTree.from_parents needs node_parents and labels"),
        (lambda: xt.listen(), "listen needs listener"),
        (
            lambda: xt.Model(),
            "Model is a base class: a class of its kind that can be used has _train, n_labels, predict",
        ),
        (lambda: xt.Index(), "Index is a base class: a class of its kind that can be used has build"),
    ],
)
def test_wrong_calls(call: Any, message: str) -> None:
    with pytest.raises(xt.XtrellisError) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_programs_that_expect_pythons_own_error_get_one() -> None:
    with pytest.raises(TypeError):
        xt.read("a.csv", txt_column="body")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        xt.LinearTree(5)  # type: ignore[misc]


def test_an_error_further_in_is_not_taken_for_a_wrong_call() -> None:
    @clear_calls
    def outer(a: int, *, b: int = 0) -> int:
        return inner(a)  # type: ignore[call-arg]

    def inner() -> int:
        return 0

    with pytest.raises(TypeError, match="inner") as caught:
        outer(1)
    assert not isinstance(caught.value, CallError)


def test_signatures_docstrings_and_kinds_of_methods_stay() -> None:
    assert "text_column" in inspect.signature(xt.read).parameters
    assert inspect.signature(xt.Tagger.tag).parameters["k"].default == 5
    assert (xt.LabelTree.from_parents.__doc__ or "").strip()
    assert inspect.ismethod(xt.Tagger.of_model)


# ── parameters ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xt.LinearTree(arity=8), "'arity'; there is one in index: set_params(index__arity=8)"),
        (lambda: xt.LinearTree(arty=8), "'arty'; there is one in index: set_params(index__arity=8)"),
        (lambda: xt.LinearTree(index__arity=8), "'index__arity'; there is one in index: set_params(index__arity=8)"),
        (lambda: xt.LinearTree(index=xt.KMeansTree(), depth=2), "there is one in index: set_params(index__depth=2)"),
        (lambda: xt.LinearTree(depth=2), "'depth'; KMeansTree has one: index=KMeansTree(depth=2)"),
        (lambda: xt.LinearTree(copies=3), "'copies'; Overlap has one: overlap=Overlap(copies=3)"),
        (lambda: xt.LinearTree(bem=3), "'bem'; did you mean 'beam'?"),
        (lambda: xt.LinearTree(n_jobs=3), "'n_jobs'; here it is called 'threads'"),
        (lambda: xt.preset("xr-linear", arity=8), "'arity'; there is one in index: index__arity=8"),
        (lambda: xt.preset("xr-linear++", beam=3), "'beam'; there is one in base: base__beam=3"),
        (lambda: xt.preset("xr-linear++", nr_splits=3), "'nr_splits'; there is one in base: base__index__arity=3"),
        (lambda: xt.preset("xr-linear,bonsai", beam=3), "'beam'; there is one in models: models__0__beam=3"),
        (lambda: xt.preset("overlap", copies=3), "'copies'; there is one in overlap: overlap__copies=3"),
        (lambda: xt.preset("bonsai").set_from_text("depth", "2"), "'depth'; there is one in index: index.depth=2"),
        (lambda: xt.Overlap(arity=3), "'arity'; valid names: assign, beam, copies"),
    ],
)  # fmt: skip
def test_a_parameter_of_a_part_is_told_as_it_is_typed(call: Any, message: str) -> None:
    with pytest.raises(xt.ParameterError) as caught:
        call()
    assert message in str(caught.value)


def test_what_was_told_works() -> None:
    assert xt.LinearTree().set_params(index__arity=8).index == xt.BalancedTree(arity=8)
    assert xt.preset("xr-linear++", base__beam=3).get_params()["base__beam"] == 3
    assert xt.preset("xr-linear,bonsai", models__0__beam=3).get_params(deep=False)["models"][0].beam == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: xt.LinearTree(5), "LinearTree takes its parameters by name, such as LinearTree(cost=5); got 5"),
        (lambda: xt.LinearTree(xt.BalancedTree()), "such as LinearTree(index=BalancedTree())"),
        (lambda: xt.Reranked(xt.LinearTree()), "such as Reranked(base=LinearTree())"),
        (lambda: xt.Vectorizer([]), "Vectorizer takes its parameters by name"),
        (lambda: xt.LinearTree(index=xt.KMeansTree), "such as KMeansTree()"),
        (lambda: xt.LinearTree(index="balanced"), "index must be an Index; got 'balanced'; such as BalancedTree()"),
    ],
)
def test_parameters_by_place_and_classes_for_objects(call: Any, message: str) -> None:
    with pytest.raises(xt.ParameterError) as caught:
        call()
    assert message in str(caught.value)


class _Own(Configured):
    deep: bool = param(flag(), "one", default=False)
    inner: Any = param(part(xt.Index), "two", default=xt.FlatTree())  # type: ignore[type-abstract]

    def go(self, far: int = 1) -> int:
        """A method of a user's own class."""
        return far


def test_classes_of_users_have_it_too() -> None:
    with pytest.raises(CallError, match=r"_Own\.go has no argument 'fur'; did you mean 'far'\?"):
        _Own().go(fur=3)  # type: ignore[call-arg]
    assert _Own().go(3) == 3
