"""Estimates beside what is measured, and training within a limit."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.arrays import is_on_disk
from xtrellis.core import progress
from xtrellis.data.datasets.synthetic import synthetic
from xtrellis.labels.space import LabelSpace
from xtrellis.linear.memory import Plan, plan
from xtrellis.linear.model import LinearTree


@pytest.fixture(scope="module")
def world():
    made = synthetic(n_rows=2000, n_labels=24_000, n_features=3000, seed=1)
    return made.X, made.Y


def bytes_of(model):
    return [{name: array.tobytes() for name, array in tree.arrays.items()} for tree in model.trees]


# A fresh process, so that no memory freed earlier hides what training takes.
MEASURE = """
import json, sys, scipy.sparse as sp, xtrellis as xt
from xtrellis.arrays import as_features, as_labels
def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))
X, Y = as_features(sp.load_npz(sys.argv[1] + "/X.npz")), as_labels(sp.load_npz(sys.argv[1] + "/Y.npz"))
small = slice(0, 50)
model = xt.preset(sys.argv[2], threads=2).set_params(**json.loads(sys.argv[3]))
model.clone().fit(X[small], Y[small])  # imports and first calls are not what is measured
expected, before = model.estimate(X, Y), status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
model.fit(X, Y)
print(json.dumps({
    "peak": status("VmHWM") - before + expected.matrices_bytes, "model": sum(t.n_bytes for t in model.trees),
    "visits": expected.visits, "expected": expected.to_dict(), "depth": model.tree.depth,
}))
"""


@pytest.mark.parametrize(
    ("name", "params"), [("xr-linear", {}), ("xr-linear", {"negatives": "both", "negative_beam": 3})]
)
def test_estimates_are_near_what_is_measured(tmp_path, name, params):
    made = synthetic(n_rows=16_000, n_labels=6_000, n_features=25_000, features_per_row=60, seed=2)
    sp.save_npz(tmp_path / "X.npz", made.X, compressed=False)
    sp.save_npz(tmp_path / "Y.npz", made.Y, compressed=False)
    command = [sys.executable, "-c", MEASURE, str(tmp_path), name, json.dumps(params)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    expected = found["expected"]
    assert 0.5 < expected["peak_bytes"] / found["peak"] < 2
    assert 0.5 < expected["model_bytes"] / found["model"] < 2
    assert found["model"] < expected["model_bytes_at_most"]


def test_an_estimate_says_what_it_counts(world):
    X, Y = world
    model = LinearTree(n_trees=2)
    found = model.estimate(X, Y)
    fitted = model.fit(X, Y)
    assert found.classifiers == sum(tree.tree.n_slots for tree in fitted.trees)
    assert found.to_dict()["peak_bytes"] == found.peak_bytes >= found.least_bytes > found.matrices_bytes
    assert found.model_bytes <= found.model_bytes_at_most
    json.dumps(found.to_dict())
    out = io.StringIO()
    Console(file=out, width=200).print(found.render())
    assert f"{found.classifiers:,} classifiers" in out.getvalue()
    assert model.set_params(threads=1).estimate(X, Y).scratch_bytes < found.scratch_bytes


@pytest.mark.parametrize("n_labels", [1, 5, 100, 101, 3000, 70_000])
@pytest.mark.parametrize(("arity", "max_leaf"), [(2, 100), (16, 100), (8, 1)])
def test_the_expected_shape_is_that_of_the_tree(n_labels, arity, max_leaf):
    if n_labels == 70_000 and max_leaf == 1:
        n_labels = 700
    index = xt.BalancedTree(arity=arity, max_leaf=max_leaf, iterations=1)
    X, Y = sp.csr_array((3, 2), dtype=np.float32), sp.csr_array((3, n_labels), dtype=np.float32)
    tree = LinearTree(index=index).fit(X, Y).tree
    expected = [level.nodes for level in index.expected_levels(LabelSpace(xt.TrainingData.of(X, Y)))]
    assert len(expected) == tree.depth
    for guess, level in zip(expected, tree.levels(), strict=True):
        assert len(level) / 2 <= guess <= 2 * len(level)


@pytest.mark.parametrize("shape", [(1, 0, 1), (1, 1, 1), (3, 5, 2), (2, 0, 200)])
@pytest.mark.parametrize("negatives", ["teacher", "matcher", "both"])
def test_odd_data_has_an_estimate(shape, negatives):
    n, d, n_labels = shape
    model = LinearTree(negatives=negatives, prune=0.0, memory_limit="1GB")
    X, Y = np.ones((n, d), np.float32), np.eye(n, n_labels, dtype=np.float32)
    assert model.estimate(X, Y).peak_bytes > 0
    assert model.fit(X, Y).predict(X, k=1).labels.shape == (n, 1)


@pytest.fixture
def small_files(monkeypatch):
    for module in ("estimate", "memory"):  # arrays of small data go to files too
        monkeypatch.setattr(f"xtrellis.linear.{module}.SPILLED", 1 << 16)


@pytest.mark.parametrize(("threads", "n_trees"), [(1, 1), (3, 2)])
def test_every_plan_gives_the_same_model(world, small_files, threads, n_trees):
    X, Y = world
    model = LinearTree(index=xt.BalancedTree(arity=4, max_leaf=20), threads=threads, n_trees=n_trees)
    expected = bytes_of(model.clone().fit(X, Y))
    sizes = model.estimate(X, Y)
    roomy, tight = int(sizes.peak_bytes * 1.2), int(sizes.least_bytes * 1.001)
    assert not plan(sizes, roomy).spill
    assert plan(sizes, tight).spill
    assert not plan(sizes, tight).outside.rows
    assert sizes.outside_bytes < sizes.least_bytes
    less = int(sizes.outside_bytes * 1.001)
    assert plan(sizes, less).outside.rows
    assert not plan(sizes, less).outside.known
    assert plan(sizes, less).outside.kept == 0  # no room to spare
    roomier = replace(sizes, outside_bytes=sizes.outside_bytes // 2)
    assert plan(roomier, less, threads=2).outside.kept == (int(0.8 * less) - roomier.outside_bytes) // 2
    for limit in (roomy, less, tight):
        model.set_params(memory_limit=limit)
        assert bytes_of(model.fit(X, Y)) == expected
    on_disk = [tree.arrays["bytes"] for tree in model.trees]
    assert all(is_on_disk(array) for array in on_disk), "spilled weights lie in a file"


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_known_of_each_row_goes_to_a_file_where_rows_are_many_and_short(small_files, threads):
    made = synthetic(n_rows=20_000, n_labels=400, n_features=400, features_per_row=4, seed=1)
    model = LinearTree(index=xt.BalancedTree(arity=4, max_leaf=20), threads=threads)
    expected = bytes_of(model.clone().fit(made.X, made.Y))
    sizes = model.estimate(made.X, made.Y)
    assert sizes.all_outside_bytes < sizes.outside_bytes
    least = int(sizes.all_outside_bytes * 1.001)
    assert plan(sizes, least).outside.known
    assert bytes_of(model.set_params(memory_limit=least).fit(made.X, made.Y)) == expected


def test_spilled_models_are_whole(world, tmp_path):
    X, Y = world
    model = LinearTree(memory_limit=int(LinearTree().estimate(X, Y).least_bytes * 1.001)).fit(X, Y)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(xt.load(tmp_path / "m").predict(X[:50]).labels, model.predict(X[:50]).labels)


def test_spilling_into_a_checkpoint(world, tmp_path):
    X, Y = world
    limit = int(LinearTree().estimate(X, Y).least_bytes * 1.001)
    model = LinearTree(memory_limit=limit).fit(X, Y, checkpoint=tmp_path / "c")
    plain = LinearTree().fit(X, Y)
    assert bytes_of(model) == bytes_of(plain)
    model.discard_checkpoint()
    assert not (tmp_path / "c").exists()
    np.testing.assert_array_equal(model.predict(X[:50]).scores, plain.predict(X[:50]).scores)


def test_nothing_is_left_in_the_temporary_folder(world, tmp_path, monkeypatch):
    X, Y = world
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    limit = int(LinearTree().estimate(X, Y).least_bytes * 1.001)
    model = LinearTree(memory_limit=limit).fit(X, Y)
    assert model.predict(X[:3], k=2).labels.shape == (3, 2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limit", ["1MB", 1_000_000])
def test_what_cannot_fit_is_refused_before_any_work(world, limit):
    X, Y = world
    model = LinearTree(memory_limit=limit)
    with pytest.raises(xt.ParameterError, match=r"is 1\.0 MB, but .* needs about .* MB .* raise the limit"):
        model.fit(X, Y)
    assert not model.fitted
    with pytest.raises(xt.ParameterError, match="memory_limit must be a number of bytes"):
        LinearTree(memory_limit="much")


def test_the_plan_is_told(world):
    X, Y = world
    notes = []

    class Listener:
        begin = advance = end = lambda *args: 0

        def note(self, message):
            notes.append(message)

    with progress.listen(Listener()):
        LinearTree(memory_limit="10GB").fit(X, Y)
    assert any(note.startswith("memory_limit: at most") for note in notes)
    assert "go to disk" in str(Plan(room=1e9, spill=True))
