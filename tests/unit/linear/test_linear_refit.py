"""What changing a parameter of a trained model does: at once, never, or at the next fit."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.linear.model import LinearTree


def data(n=80, d=30, n_labels=25):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return X, sp.csr_array((rng.random((n, n_labels)) < 0.1).astype(np.float32))


def small(**params):
    return LinearTree(index=xt.BalancedTree(max_leaf=4, arity=4), **params)


@pytest.mark.parametrize("transform", ["l2-hinge", "sigmoid"])
def test_transform_counts_at_once(transform, tmp_path):
    X, Y = data()
    expected = small(transform=transform, storage="float32").fit(X, Y)
    exact = small(storage="float32").fit(X, Y)
    for model in (exact, exact.stored_as("float32")):
        before = model.predict(X, k=5)
        model.set_params(transform=transform)
        found = model.predict(X, k=5)
        np.testing.assert_array_equal(found.labels, expected.predict(X, k=5).labels)
        np.testing.assert_array_equal(found.scores, expected.predict(X, k=5).scores)
        assert (found.scores != before.scores).any()
        assert model.explain(X[[0]], 3).score == expected.explain(X[[0]], 3).score
        model.save(tmp_path / "m")
        np.testing.assert_array_equal(xt.load(tmp_path / "m").predict(X, k=5).scores, found.scores)


def test_storage_of_a_trained_model_cannot_be_set():
    X, Y = data()
    model = small(storage="float32").fit(X, Y)
    for change in (lambda: model.set_params(storage="int8", beam=3), lambda: setattr(model, "storage", "int8")):
        with pytest.raises(
            xt.ParameterError, match=r"from 'float32' to 'int8': use stored_as\('int8'\).* or clone\(\)"
        ):
            change()
    assert (model.storage, model.beam) == ("float32", 10)
    with pytest.raises(xt.ParameterError, match="storage must be one of"):
        model.storage = "int4"
    model.set_params(storage="float32")  # what it is already
    assert model.stored_as("int8").storage == model.stored_as("int8").trees[0].storage == "int8"
    assert model.clone().set_params(storage="int8").fit(X, Y).trees[0].storage == "int8"


@pytest.mark.parametrize(
    ("name", "value"), [("cost", 2.0), ("n_trees", 2), ("seed", 5), ("index__max_leaf", 5), ("index", xt.FlatTree())]
)
def test_what_was_set_after_training_is_not_saved_as_if_it_were_true(name, value, tmp_path):
    X, Y = data()
    model = small().fit(X, Y)
    before = model.predict(X, k=3).scores
    model.set_params(**{name: value})
    np.testing.assert_array_equal(model.predict(X, k=3).scores, before)
    with pytest.raises(xt.StoreError, match=rf"{name.split('__')[0]} was set to .* fit again, or set it back"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()
    model.fit(X, Y).save(tmp_path / "m")
    loaded = xt.load(tmp_path / "m")
    loaded.set_params(cost=9.0)
    with pytest.raises(xt.StoreError, match=r"cost was set to 9\.0 after training with"):
        loaded.save(tmp_path / "other")
    loaded.set_params(cost=model.cost, beam=4, threads=1).save(tmp_path / "other")
    assert xt.load(tmp_path / "other").beam == 4


def test_copies_stand_on_their_own():
    X, Y = data()
    model = small().fit(X, Y)
    other = copy.copy(model)
    other.transform = "sigmoid"
    assert model.trees[0].transform == model.transform == "l3-hinge"
    assert other.trees[0].transform == "sigmoid"


def test_every_parameter_is_of_one_kind():
    roles = {name: declared.role for name, declared in LinearTree._params.items()}
    assert roles.keys() == LinearTree().get_params(deep=False).keys()
    assert {name for name, role in roles.items() if role == "search"} == {"search", "beam", "slack", "prior"}
    assert {name for name, role in roles.items() if role == "fit+search"} == {"transform"}
    assert {name for name, role in roles.items() if role == "machine"} == {"threads", "memory_limit"}
    assert set(roles.values()) == {"fit", "search", "fit+search", "machine"}
