"""Integers of any size: what no kernel can count to is refused at once, and what is allowed costs what it must."""

from __future__ import annotations

import inspect
import json
import pickle

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.core import Configured, integer
from xtrellis.core.checks import LARGEST
from xtrellis.index.capacity import Wishes, fit_in

PUBLIC = [found for name in xt.__all__ if isinstance(found := getattr(xt, name), type)]
CONFIGURED = [cls for cls in PUBLIC if issubclass(cls, Configured) and not inspect.isabstract(cls)]
INTEGERS = [
    pytest.param(cls, name, id=f"{cls.__name__}.{name}")
    for cls in CONFIGURED
    for name, declared in cls._params.items()
    if isinstance(declared.check, integer)
]


@pytest.fixture(scope="module")
def data():
    found = xt.synthetic(n_rows=200, n_labels=30, n_features=100, seed=3)
    return found.X, found.Y


@pytest.mark.parametrize(("cls", "name"), INTEGERS)
def test_a_parameter_too_large_for_kernels_is_refused(cls, name):
    if name == "seed":
        assert cls(seed=2**63 - 1).seed == 2**63 - 1
        with pytest.raises(xt.ParameterError, match=r"seed must be an integer ≥ 0, at most 9223372036854775807; got"):
            cls(seed=2**63)
        return
    for value in (2**31, np.int64(2**40), 10**30):
        with pytest.raises(xt.ParameterError, match=rf"^{name} must be an integer ≥ \d+.*(≤|at most) \d+"):
            cls(**{name: value})


def test_only_those_who_exceed_a_bound_are_told_of_it():
    check = integer(at_least=1, or_none=True)
    assert str(check.error("beam", 0)) == "beam must be an integer ≥ 1 or None; got 0"
    assert str(check.error("beam", 2**31)) == "beam must be an integer ≥ 1, at most 2147483647 or None; got 2147483648"
    assert str(check.error("beam", "x")) == "beam must be an integer ≥ 1 or None; got 'x'"
    check("beam", LARGEST)
    assert integer(at_most=7).requirement == "an integer ≤ 7"


def test_a_stored_number_too_large_is_refused_when_the_model_is_opened(data, tmp_path):
    xt.LinearTree().fit(*data).save(tmp_path / "m")
    manifest = json.loads((tmp_path / "m" / "model.json").read_text())
    manifest.pop("sha256", None)  # written by somebody who knows how
    text = json.dumps(manifest).replace('"beam": 10', '"beam": 2147483648', 1)
    (tmp_path / "m" / "model.json").write_text(text)
    with pytest.raises(xt.StoreError, match=r"beam must be an integer ≥ 1, at most 2147483647"):
        xt.load(tmp_path / "m")


@pytest.mark.parametrize(
    "params",
    [
        {"beam": LARGEST, "max_weights": LARGEST},
        {"beam": LARGEST, "search": "best-first", "negatives": "both", "negative_beam": LARGEST},
        {"index__arity": LARGEST, "index__max_leaf": LARGEST},
        {"index__iterations": LARGEST, "index__tolerance": 0, "index__max_leaf": 2},
        {"index": xt.InterpolatedTree(arity=LARGEST, iterations=LARGEST, tolerance=0, max_leaf=2)},
        {"index": xt.KMeansTree(k=3, depth=LARGEST, max_leaf=1, iterations=LARGEST, tolerance=0)},
        {"overlap": xt.Overlap(max_cluster_size=LARGEST, beam=LARGEST, rounds=LARGEST)},
        {"threads": LARGEST, "index__max_leaf": 4},
    ],
    ids=str,
)
def test_the_largest_numbers_cost_no_more_than_there_is_to_do(data, params):
    X, Y = data
    model = xt.LinearTree(max_epochs=LARGEST).set_params(**params).fit(X, Y)
    assert model.estimate(X, Y).peak_bytes < 10**8
    assert model.predict(X, 10**12).labels.shape == (200, 30)


def test_a_stored_seed_of_any_size_comes_back(data, tmp_path):
    model = xt.LinearTree(seed=2**63 - 1).fit(*data)
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").seed == 2**63 - 1
    assert pickle.loads(pickle.dumps(xt.LinearTree(seed=2**40))).seed == 2**40


MODELS = {
    "LinearTree": lambda: xt.LinearTree(),
    "LinearTree of several": lambda: xt.LinearTree(n_trees=2, search="best-first"),
    "SoftmaxTree": lambda: xt.SoftmaxTree(dim=4, epochs=1),
    "Reranked": lambda: xt.Reranked(calibrate=False, candidates=LARGEST),
    "Ensemble": lambda: xt.Ensemble(models=[xt.LinearTree(), xt.SoftmaxTree(dim=4, epochs=1)], candidates=LARGEST),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("k", [10**12, 10**30, np.int64(10**12)], ids=["int", "huge", "numpy"])
def test_no_more_labels_are_given_than_there_are(data, name, k):
    X, Y = data
    model = MODELS[name]().fit(X, Y)
    for rows in (X, X[:1], X[:3]):
        found = model.predict(rows, k)
        assert found.labels.shape == (rows.shape[0], 30)
    assert (np.sort(found.labels[0]) == np.arange(30)).all()


@pytest.mark.parametrize("name", ["Glas", "Elias", "EncoderOvA", "XTransformer"])
def test_no_more_labels_are_given_than_there_are_by_networks(data, name):
    pytest.importorskip("torch")
    X, Y = data
    small = {"dim": 4} if name == "Glas" else {"encoder": xt.BagEncoder(dim=4)}
    large = {"Glas": {"n_negatives": LARGEST, "n_hard_negatives": LARGEST, "beam": LARGEST, "search": "ann"},
             "Elias": {"shortlist_size": LARGEST, "beam": LARGEST, "edges_per_cluster": LARGEST,
                       "n_clusters": LARGEST, "accumulate_steps": LARGEST},
             "XTransformer": {"n_clusters": LARGEST}}.get(name, {})  # fmt: skip
    model = getattr(xt, name)(epochs=2, batch_size=LARGEST, **small, **large).fit(X, Y)
    assert model.estimate(X, Y).peak_bytes < 10**8
    for k in (10**12, np.int64(10**12)):
        assert model.predict(X[:3], k).labels.shape == (3, 30)


def test_places_are_counted_out_only_as_far_as_labels_need_them():
    """30 labels nobody asks for, and clusters with room for two thousand million each."""
    wishes = Wishes(np.zeros(31, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), 1000)
    (labels, clusters), gap = fit_in(wishes, np.zeros(30, np.int32), copies=1, limit=LARGEST)
    assert (labels == np.arange(30)).all()
    assert (clusters == 0).all()
    assert gap == 0
    (labels, clusters), _ = fit_in(wishes, np.zeros(30, np.int32), copies=1, limit=7)
    assert np.bincount(clusters).tolist() == [7, 7, 7, 7, 2]
    assert sorted(labels) == list(range(30))


@pytest.mark.parametrize("parents", [[2, 2, 2**70], [2, 2, -(2**70)], [2, 2, 2**63], np.array([2, 2, 2**64 - 1], "u8")])
def test_a_hierarchy_of_numbers_beyond_64_bits_is_refused(data, parents):
    X, Y = data
    with pytest.raises(xt.InputError, match=r"parents must be node numbers below 3, or -1; got -?\d{19}"):
        xt.LinearTree(index=xt.GivenTree(parents=parents)).fit(X, Y[:, :2])
