"""Feature spaces far wider than the data: the same models as in narrow ones, and no memory for columns that are only
announced."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.arrays import as_features
from xtrellis.data.datasets.synthetic import synthetic
from xtrellis.labels import is_wide, narrow, narrowed
from xtrellis.labels.space import LabelSpace
from xtrellis.linear.blocks import GROUP, join_block
from xtrellis.linear.memory import Overflow, plan
from xtrellis.linear.model import LinearTree
from xtrellis.store import DiskScratch

WIDE = 3_000_000


@pytest.fixture(scope="module")
def world():
    made = synthetic(n_rows=300, n_labels=120, n_features=WIDE, features_per_row=20, seed=4)
    return made.X, made.Y


def bytes_of(model):
    return [{name: array.tobytes() for name, array in tree.arrays.items()} for tree in model.trees]


def test_narrowed_rows_are_the_rows(world):
    X = as_features(world[0])
    assert is_wide(X)
    found = narrowed(X)
    assert found.X.shape == (300, len(np.unique(X.indices)))
    np.testing.assert_array_equal(found.named(found.X.indices), X.indices)
    assert found.X.data is X.data
    assert (np.diff(found.columns) > 0).all(), "the order of columns is kept"


def test_narrowing_in_pieces(world, monkeypatch):
    X = as_features(world[0])
    expected = narrowed(X).X.indices
    monkeypatch.setattr(narrow, "CHUNK", 7)
    np.testing.assert_array_equal(narrowed(X).X.indices, expected)


def test_what_is_not_wide_stays_as_it_is():
    X = as_features(sp.csr_array(np.eye(3, dtype=np.float32)))
    found = narrowed(X)
    assert found.X is X
    assert found.named(X.indices) is X.indices


def test_no_features_at_all():
    X = sp.csr_array((4, WIDE), dtype=np.float32)
    Y = sp.csr_array(np.eye(4, dtype=np.float32))
    model = LinearTree(memory_limit="1GB").fit(X, Y)
    assert model.predict(X, k=4).labels.shape == (4, 4)


PARAMS = {
    "plain": {},
    "overlap": {"overlap": xt.Overlap(max_cluster_size=None)},
    "kmeans": {"index": xt.KMeansTree(k=5, max_leaf=5), "n_trees": 2},
    "negatives": {"negatives": "both", "negative_beam": 3, "storage": "int8"},
}


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize("threads", [1, 3])
def test_narrow_or_not_the_model_is_the_same(world, name, threads, monkeypatch):
    X, Y = world
    model = LinearTree(**{"index": xt.BalancedTree(arity=4, max_leaf=10), **PARAMS[name]}, threads=threads)
    expected = bytes_of(model.clone().fit(X, Y))
    least = model.estimate(X, Y).least_bytes
    assert bytes_of(model.clone().set_params(memory_limit=least + 1000).fit(X, Y)) == expected
    monkeypatch.setattr(narrow, "WIDE", X.shape[1])
    assert not is_wide(as_features(X))
    assert bytes_of(model.clone().fit(X, Y)) == expected


def test_label_vectors_have_only_columns_that_occur(world):
    X, Y = world
    vectors = LabelSpace(xt.TrainingData.of(X, Y)).vectors
    assert vectors.shape == (120, len(np.unique(X.indices)))


# What fit and predict add to a fresh process, in bytes; the first calls are made before on little data.
MEASURE = """
import json, sys, numpy as np, scipy.sparse as sp, xtrellis as xt
def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))
def reset():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")
made = xt.synthetic(n_rows=2000, n_labels=300, n_features=50_000_000, features_per_row=30, seed=2)
X, Y = made.X, made.Y
model = xt.LinearTree(**json.loads(sys.argv[1]))
if sys.argv[2] == "overlap":
    model.set_params(overlap=xt.Overlap(max_cluster_size=None))
model.clone().fit(X[:50, :9], Y[:50])
limit = int(model.estimate(X, Y).least_bytes * 1.001)
before = reset()
model.set_params(memory_limit=limit).fit(X, Y)
taken = status("VmHWM") - before
before = reset()
model.predict(X, k=3)
print(json.dumps({"limit": limit, "taken": taken, "search": status("VmHWM") - before}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("overlap", ["", "overlap"])
def test_columns_that_are_only_announced_take_no_memory(overlap):
    """An array of four bytes a column, on one thread, would be 200 MB."""
    params = json.dumps({"threads": 2, "max_epochs": 3})
    run = subprocess.run([sys.executable, "-c", MEASURE, params, overlap], check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    assert found["limit"] < 60e6
    assert found["taken"] < 100e6
    assert found["search"] < 60e6


def test_many_rows_are_searched_together_in_a_wide_feature_space(world, monkeypatch):
    """Nothing that searches is as long as the feature space, so no number of rows is too small for it."""
    from xtrellis.linear import search

    X, Y = world
    model = LinearTree(threads=1, max_epochs=2).fit(X, Y)
    monkeypatch.setattr(search, "FEW", X.shape[0] + 1)
    one_by_one = model.predict(X, k=3)
    monkeypatch.setattr(search, "FEW", 0)
    monkeypatch.setattr(search, "CHUNK", 64)
    many = model.predict(sp.vstack([X] * 12, format="csr"), k=3)
    for rows in range(0, len(many), X.shape[0]):
        np.testing.assert_array_equal(many.labels[rows : rows + X.shape[0]], one_by_one.labels)
        np.testing.assert_array_equal(many.scores[rows : rows + X.shape[0]], one_by_one.scores)


def test_weights_beyond_their_share_go_to_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with DiskScratch() as disk:
        kept = Overflow(disk, 1000)
        first, second = {"a": np.arange(100, dtype=np.float32)}, {"a": np.arange(200, dtype=np.float32)}
        assert kept.put("first", first) is first
        assert type(kept.empty(5, np.int32)) is np.ndarray
        assert kept.empty(5, np.int32).base is None
        kept.begin(0)
        assert kept.put("again", first) is first, "what is gone does not count"
        found = kept.put("second", second)
        assert found is not second
        np.testing.assert_array_equal(found["a"], second["a"])
        assert kept.put("third", first) is not first, "from then on, all of it"
        assert kept.empty(5, np.int32).base is not None


def test_an_estimate_that_was_too_small_for_the_weights(world, monkeypatch):
    X, Y = world
    expected = bytes_of(LinearTree(n_trees=2).fit(X, Y))
    model = LinearTree(n_trees=2, memory_limit="1GB")
    monkeypatch.setattr("xtrellis.linear.estimate.ENTRY", dict.fromkeys(("float32", "float16", "int8"), 1e-9))
    monkeypatch.setattr("xtrellis.linear.estimate.FEATURE", 1e-9)
    assert not plan(model.estimate(X, Y), 10**9).spill
    assert bytes_of(model.fit(X, Y)) == expected


def test_clusters_count_in_the_estimate():
    """K-means keeps a sum a feature and cluster: most of what a training takes."""
    made = synthetic(n_rows=3000, n_labels=600, n_features=20_000, features_per_row=60, seed=5)
    few, many = (
        LinearTree(index=xt.KMeansTree(k=k, max_leaf=20)).estimate(made.X, made.Y).placing_bytes for k in (16, 512)
    )
    occurring = len(np.unique(as_features(made.X).indices))
    assert many - few > 0.8 * 4 * occurring * (512 - 16)


def test_parts_are_joined_by_feature():
    """Against a plain sort of all entries."""
    rng = np.random.default_rng(0)
    parts, entries = [], []
    for i in range(3):
        features = np.sort(rng.choice(50, 20, replace=False)).astype(np.int32)
        counts = rng.integers(1, 5, 20)
        children = np.concatenate([np.sort(rng.choice(GROUP, c, replace=False)) for c in counts]).astype(np.uint8)
        weights = rng.standard_normal(len(children)).astype(np.float32)
        parts.append((features, np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32), children, weights))
        entries += zip(np.repeat(features, counts), children + GROUP * i, weights, strict=True)
    entries.sort(key=lambda entry: entry[:2])
    features, starts, children, weights = join_block(parts)
    assert [array.dtype for array in (features, starts, children, weights)] == [
        np.int32,
        np.uint32,
        np.uint8,
        np.float32,
    ]
    np.testing.assert_array_equal(np.repeat(features, np.diff(starts)), [f for f, _, _ in entries])
    np.testing.assert_array_equal(children, [c for _, c, _ in entries])
    np.testing.assert_array_equal(weights, [w for _, _, w in entries])
