"""Parameters: declared once, checked everywhere, understood by scikit-learn."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle
from abc import ABC, abstractmethod
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.base

import xtrellis as xt
from xtrellis.core.checks import Check, choice, file_path, flag, integer, number, part, text
from xtrellis.core.config import Configured, param
from xtrellis.core.errors import ParameterError


class Index(Configured, ABC):
    @abstractmethod
    def build(self): ...


class Tree(Index):
    arity: int = param(integer(at_least=2), "children of a node", default=2)

    def build(self): ...


class Flat(Index):
    def build(self): ...


class Model(Configured):
    beam: int = param(integer(at_least=1), default=10)
    cost: float = param(number(above=0, infinite=True), default=1.0)
    loss: str = param(choice("hinge", "logistic"), default="hinge")
    balanced: bool = param(flag(), default=False)
    note: str | None = param(text(or_none=True), default=None)
    index: Index = param(part(Index), default=Tree())
    extra: Index | None = param(part(Index, or_none=True), default=None)


class Wider(Model):
    beam: int = param(integer(at_least=5), default=20)
    copies: int = param(integer(at_least=1), default=1)


def test_defaults_and_keywords():
    model = Model(beam=3, index=Tree(arity=8))
    assert (model.beam, model.cost, model.loss, model.index.arity) == (3, 1.0, "hinge", 8)
    assert Model.beam == 10  # documentation tools see it
    with pytest.raises(TypeError):
        Model(3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"beem": 3}, "Model has no parameter 'beem'; did you mean 'beam'?"),
        ({"xyzzy": 3}, "Model has no parameter 'xyzzy'; valid names: balanced, beam, cost, extra, index, loss, note"),
        ({"beam": 0}, "beam must be an integer ≥ 1; got 0"),
        ({"beam": 1.0}, "beam must be an integer ≥ 1; got 1.0"),
        ({"beam": True}, "beam must be an integer ≥ 1; got True"),
        ({"beam": None}, "beam must be an integer ≥ 1; got None"),
        ({"cost": 0}, "cost must be a number > 0 (inf is allowed); got 0"),
        ({"loss": "hing"}, "loss must be one of 'hinge', 'logistic'; got 'hing'; did you mean 'hinge'?"),
        ({"loss": "zzz"}, "loss must be one of 'hinge', 'logistic'; got 'zzz'"),
        ({"loss": 3}, "loss must be one of 'hinge', 'logistic'; got 3"),
        ({"balanced": 1}, "balanced must be True or False; got 1"),
        ({"note": 3}, "note must be a string or None; got 3"),
        ({"index": None}, "index must be an Index; got None"),
        ({"index": Tree}, "index must be an Index; got <class"),
        ({"index__arity": 3}, "Model has no parameter 'index__arity'"),
    ],
)
def test_wrong_parameters_are_refused_by_name(params, message):
    with pytest.raises(ParameterError) as caught:
        Model(**params)
    assert str(caught.value).startswith(message)


def test_assignment_is_checked():
    model = Model()
    with pytest.raises(ParameterError, match="beam must be"):
        model.beam = 0
    assert model.beam == 10
    model.beam = 4
    model.weights_ = [1]  # what is not a parameter is not minded


def test_values_are_kept_as_given():
    beam = np.int64(7)
    assert Model(beam=beam).beam is beam


def test_default_parts_are_not_shared():
    one, other = Model(), Model()
    one.index.arity = 9
    assert other.index.arity == 2
    assert Model.index.arity == 2


def test_inheritance_adds_and_overrides():
    model = Wider()
    assert (model.beam, model.copies, model.loss) == (20, 1, "hinge")
    with pytest.raises(ParameterError, match="≥ 5"):
        Wider(beam=3)
    with pytest.raises(ParameterError):
        Model(copies=2)


def test_get_params():
    model = Model(index=Tree(arity=8))
    assert list(model.get_params(deep=False)) == ["beam", "cost", "loss", "balanced", "note", "index", "extra"]
    assert model.get_params()["index__arity"] == 8


def test_set_params_reaches_into_parts():
    model = Model()
    assert model.set_params(beam=3, index__arity=5, loss="logistic") is model
    assert (model.beam, model.index.arity, model.loss) == (3, 5, "logistic")


def test_set_params_takes_a_part_and_its_parameters_in_either_order():
    for names in (("index", "index__arity"), ("index__arity", "index")):
        model = Model()
        values = {"index": Tree(arity=3), "index__arity": 7}
        model.set_params(**{name: values[name] for name in names})
        assert model.index.arity == 7
        assert model.index is values["index"]


@pytest.mark.parametrize(
    "wrong", [{"beem": 1}, {"beam": 0}, {"index__arity": 1}, {"index__arty": 5}, {"note__x": 1}, {"extra__arity": 3}]
)
def test_set_params_changes_all_or_nothing(wrong):
    model = Model(index=Tree(arity=4))
    index = model.index
    with pytest.raises(ParameterError):
        model.set_params(**{"beam": 3, "index__arity": 9, "cost": 2.0, **wrong})
    assert model.index is index
    assert model == Model(index=Tree(arity=4))


def test_trailing_separators_are_not_names():
    with pytest.raises(ParameterError):
        Model().set_params(beam__=3)
    with pytest.raises(ParameterError):
        Model().set_from_text("beam.", "3")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("beam", "3", 3),
        ("beam", "1_000", 1000),
        ("cost", "0.5", 0.5),
        ("cost", "inf", math.inf),
        ("loss", "logistic", "logistic"),
        ("balanced", "yes", True),
        ("balanced", "Off", False),
        ("note", "none", None),
        ("note", "three", "three"),
        ("index.arity", "16", 16),
        ("index__arity", "16", 16),
    ],
)
def test_set_from_text(name, text, value):
    model = Model()
    model.set_from_text(name, text)
    assert model.get_params()[name.replace(".", "__")] == value


def test_set_from_text_builds_parts_by_name():
    model = Model()
    model.set_from_text("extra", "Tree")
    model.set_from_text("extra.arity", "5")
    assert model.extra == Tree(arity=5)
    model.set_from_text("extra", "none")
    assert model.extra is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("beem", "3", "did you mean 'beam'"),
        ("beam", "three", "beam must be an integer ≥ 1; got 'three'"),
        ("beam", "0", "beam must be an integer ≥ 1; got 0"),
        ("beam", "9" * 400, "beam must be an integer ≥ 1"),
        ("cost", "nan", "cost must be"),
        ("cost", "much", "cost must be"),
        ("balanced", "maybe", "balanced must be True or False; got 'maybe'"),
        ("index", "Tre", "index must be an Index; got 'Tre'; did you mean 'Tree'"),
        ("index", "Index", "index must be an Index; got 'Index'"),  # abstract
        ("index", "none", "index must be an Index"),
        ("index.arty", "3", "did you mean 'arity'"),
        ("beam.x", "3", "Model.beam is 10 and has no parameter 'x'"),
    ],
)
def test_set_from_text_refuses(name, text, message):
    with pytest.raises(ParameterError) as caught:
        Model().set_from_text(name, text)
    assert message in str(caught.value)


def test_clone():
    model = Model(beam=3, index=Tree(arity=7))
    model.weights_ = [1]
    other = model.clone()
    assert other == model
    assert other is not model
    assert other.index is not model.index
    assert not hasattr(other, "weights_")


def test_scikit_learn_clones_it():
    model = Model(beam=np.int64(3), cost=math.inf, index=Tree(arity=7))
    other = sklearn.base.clone(model)
    assert other == model
    assert other.index is not model.index
    assert other.beam is model.beam


def test_copies_and_pickles_are_equal():
    model = Model(index=Tree(arity=7))
    assert copy.deepcopy(model) == model
    assert pickle.loads(pickle.dumps(model)) == model


def test_equality_and_repr():
    assert Model() == Model()
    assert Model(beam=3) != Model()
    assert Model() != Wider()
    assert Model() != 3
    assert repr(Model()) == "Model()"
    assert repr(Model(beam=3, index=Tree(arity=4))) == "Model(beam=3, index=Tree(arity=4))"
    assert eval(repr(Model(beam=3, note="x", index=Tree(arity=4)))) == Model(beam=3, note="x", index=Tree(arity=4))
    assert len({Model(), Model()}) == 2  # hashed by identity: they may change


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"cost": math.inf},
        {"cost": 0.1, "note": "é", "balanced": True},
        {"index": Tree(arity=9), "extra": Flat()},
        {"beam": np.int16(3), "cost": np.float32(0.5)},
        {"cost": np.float32(np.inf)},
        {"cost": Fraction(1, 4)},
    ],
)
def test_json_round_trip(params):
    model = Model(**params)
    config = json.loads(json.dumps(model.to_config(), allow_nan=False))
    assert config["class"] == "Model"
    assert Model(**Model.params_from_json(config["params"])) == model


@pytest.mark.parametrize(
    "params",
    [
        {"beem": 1},
        {"index": 3},
        {"index": {"class": "Tree"}},
        {"index": {"class": "Tree", "params": []}},
        {"index": {"class": "Model", "params": {}}},
        {"index": {"class": "Index", "params": {}}},
        {"index": {"class": None, "params": {}}},
        {"index": {"class": "Tree", "params": {"arity": "2"}}},
        {"index": None},
        {"beam": "3"},
        {"cost": "nan"},
    ],
)
def test_wrong_json_is_refused(params):
    with pytest.raises(ParameterError):
        Model(**Model.params_from_json(params))


def test_arrays_as_values_compare_by_content():
    class Holder(Configured):
        value: object = param(Check(), default=None)

    array = np.ones(3)
    assert Holder(value=array) == Holder(value=array)
    assert Holder(value=array) == Holder(value=np.ones(3)) == Holder(value=[1.0, 1.0, 1.0])
    assert Holder(value=array) != Holder(value=np.zeros(3))
    assert Holder(value=array).to_config()["params"]["value"] == [1.0, 1.0, 1.0]
    assert repr(Holder(value=np.arange(1000))) == "Holder(value=<ndarray of 1000>)"


class Documented(Configured):
    """Does something.

    And more of it.
    """

    beam: int = param(integer(at_least=1), "nodes that search keeps", default=10, role="search")
    index: Index | None = param(part(Index, or_none=True), "where labels sit", default=Tree(arity=3))
    transform: str = param(choice("a", "b"), "how a margin becomes a score", default="a", role="fit+search")
    threads: int | None = param(integer(or_none=True), "threads; None for all", default=None, role="machine")
    words: Any = param(Check(), "ümlauts first", default=list(range(20)))


class Derived(Documented):
    """A special one."""

    depth: int = param(integer(), "levels", default=2)
    beam = param(integer(at_least=2), "nodes, more of them", default=20, role="search")


class Silent(Derived):
    pass


def test_the_signature_is_what_the_constructor_takes():
    found = inspect.signature(Documented)
    assert list(found.parameters) == ["beam", "index", "transform", "threads", "words"]
    for name, parameter in found.parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is Documented._params[name].default
    assert {name: p.annotation for name, p in found.parameters.items()} == {
        "beam": "int", "index": "Index | None", "transform": "str", "threads": "int | None", "words": "Any",
    }  # fmt: skip
    assert str(inspect.signature(Tree)) == "(*, arity: 'int' = 2)"
    bound = found.bind(beam=3)
    assert Documented(**bound.arguments).beam == 3
    with pytest.raises(TypeError):
        found.bind(3)
    with pytest.raises(TypeError):
        found.bind(beem=3)


def test_what_is_special_to_a_class_comes_first_in_its_signature():
    found = inspect.signature(Derived).parameters
    assert list(found) == ["depth", "beam", "index", "transform", "threads", "words"]
    assert found["beam"].default == 20
    assert found["beam"].annotation == "int"  # of the class above, since it is not said again
    assert inspect.signature(Documented).parameters["beam"].default == 10
    assert inspect.signature(Silent) == inspect.signature(Derived)
    assert not inspect.signature(Flat).parameters


def test_the_help_text_lists_every_parameter_with_what_it_means():
    assert (
        Documented.__doc__
        == """Does something.

And more of it.

Parameters
----------
beam : int, default 10
    Nodes that search keeps. Counts when the model is asked; may be changed at any time.
index : Index | None, default Tree(arity=3)
    Where labels sit.
transform : str, default 'a'
    How a margin becomes a score. Counts in training and when the model is asked; may be changed at any time.
threads : int | None, default None
    Threads; None for all. Not saved.
words : Any, default <list of 20>
    Ümlauts first."""
    )
    assert Derived.__doc__.startswith("A special one.\n\nParameters\n----------\ndepth : int, default 2\n    Levels.\n")
    assert "    Nodes, more of them. Counts when" in Derived.__doc__
    assert Derived.__doc__.count("Parameters\n") == Silent.__doc__.count("Parameters\n") == 1
    assert "nodes that search keeps" not in Silent.__doc__
    assert "Parameters" not in (Flat.__doc__ or "")


@pytest.mark.parametrize("cls", [xt.LinearTree, xt.Reranked, xt.Elias, xt.Glas, xt.SoftmaxTree, xt.Vectorizer])
def test_every_parameter_of_the_library_is_documented(cls):
    said = inspect.getdoc(cls)
    assert list(inspect.signature(cls).parameters) == list(cls().get_params(deep=False))
    for name, declared in cls._params.items():
        assert declared.doc, name
        assert f"\n{name} : " in said
        assert declared.role in ("fit", "search", "fit+search", "machine")
    assert cls._params["threads"].role == "machine"


def test_roles_say_what_is_stored():
    model = Derived(beam=7, transform="b", threads=3)
    assert model.to_config()["params"].keys() == {"depth", "beam", "index", "transform", "words"}
    assert model.params_to_json("search") == {"beam": 7}
    assert model.params_to_json("machine") == {"threads": 3}
    assert model.params_to_json("fit", "fit+search").keys() == {"depth", "index", "transform", "words"}
    assert model.params_to_json("fit")["index"] == {"class": "Tree", "params": {"arity": 3}}
    again = Derived(**Derived.params_from_json(json.loads(json.dumps(model.to_config()["params"]))))
    assert (again.beam, again.transform, again.threads) == (7, "b", None)
    assert model.clone().threads == 3
    assert param(integer(), default=1).role == "fit"


class Outer(Configured):
    inner: Configured | None = param(part(Configured, or_none=True), default=None)
    many: Any = param(Check(), default=())


class Filed(Configured):
    path: str | None = param(file_path(or_none=True), default=None)
    other: str = param(file_path(), default="")
    note: str = param(text(), default="no/file")


def test_files_that_parameters_name_are_found_in_parts_too():
    assert list(Filed().named_files()) == []
    assert list(Filed(path="a/b", other="c").named_files()) == [Path("a/b"), Path("c")]
    outer = Outer(inner=Outer(inner=Filed(path="a")), many=[Filed(path="b"), 3, Outer(many=(Filed(other="c"),))])
    assert sorted(map(str, outer.named_files())) == ["a", "b", "c"]
    with pytest.raises(ParameterError, match="other must be the path of a file; got 3"):
        Filed(other=3)


def test_a_parameter_that_is_new_has_its_old_value_in_what_was_stored_before():
    class Grown(Configured):
        size: int = param(integer(at_least=1), "how large", default=3)
        scaled: bool = param(flag(), "whether it is scaled", default=True, before=False)

    assert Grown(**Grown.params_from_json({"size": 5})) == Grown(size=5, scaled=False)
    assert Grown(**Grown.params_from_json({"size": 5, "scaled": True})) == Grown(size=5)
    assert Grown().scaled is True
