"""LinearTree as its users meet it: odd data, bad input, damaged weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrellis as xt
from xtrellis.arrays.inputs import as_rows
from xtrellis.linear.model import LinearTree
from xtrellis.linear.packed import PackedTree
from xtrellis.linear.search import SearchSettings, search_tree


def data(n=80, d=30, n_labels=25, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float32, format="csr")
    return X, sp.csr_array((rng.random((n, n_labels)) < 0.1).astype(np.float32))


def test_it_learns_what_is_there_to_learn():
    """Every label has a word of its own: all of them must be found."""
    n_labels = 60
    Y = sp.csr_array(np.eye(n_labels, dtype=np.float32)[np.arange(600) % n_labels])
    X = sp.csr_array(np.hstack([Y.toarray(), np.random.default_rng(0).random((600, 5)) * 0.1]).astype(np.float32))
    top = LinearTree(index=xt.BalancedTree(max_leaf=8, arity=4)).fit(X, Y).predict(X, k=1)
    assert (top.labels[:, 0] == np.arange(600) % n_labels).all()


def test_label_features_help_to_place_labels_without_rows():
    X, Y = data()
    names = sp.random_array((25, 12), density=0.4, rng=np.random.default_rng(1), format="csr")
    with_names = LinearTree(index=xt.BalancedTree(max_leaf=4)).fit(X, Y, label_features=names)
    without = LinearTree(index=xt.BalancedTree(max_leaf=4)).fit(X, Y)
    assert with_names.tree != without.tree
    with pytest.raises(xt.InputError, match="3 rows; Y has 25 labels"):
        LinearTree().fit(X, Y, label_features=names[:3])


@given(
    n=st.integers(1, 12), d=st.integers(0, 6), n_labels=st.integers(1, 40),
    seed=st.integers(0, 10_000), max_leaf=st.integers(1, 9), k=st.integers(1, 50),
)  # fmt: skip
@settings(max_examples=60)
def test_odd_shapes_break_nothing(n, d, n_labels, seed, max_leaf, k):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) * (rng.random((n, d)) < 0.4)).astype(np.float32)
    Y = (rng.random((n, n_labels)) < 0.1).astype(np.float32)
    model = LinearTree(index=xt.BalancedTree(max_leaf=max_leaf, arity=4), threads=1).fit(X, Y)
    top = model.predict(X, k=k)
    assert top.labels.shape == (n, min(k, n_labels))
    assert np.isfinite(top.scores).all()
    for row in top.labels:
        real = row[row >= 0]
        assert len(set(real.tolist())) == len(real)
        assert (row[len(real) :] == -1).all()


def test_many_labels():
    n_labels = 70_000
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 50), density=0.2, rng=rng, dtype=np.float32, format="csr")
    Y = sp.csr_array(
        (np.ones(400), (np.repeat(np.arange(200), 2), rng.integers(0, n_labels, 400))), shape=(200, n_labels)
    )
    model = LinearTree().fit(X, Y)
    top = model.predict(X, k=3)
    assert (np.diff(top.scores, axis=1) <= 0).all()
    hit = [
        len(set(top.labels[i].tolist()) & set(Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist())) for i in range(200)
    ]
    assert np.mean(hit) > 1


def test_a_row_without_features_gets_the_answer_of_the_biases():
    X, Y = data()
    model = LinearTree().fit(X, Y)
    empty = model.predict(sp.csr_array((3, 30), dtype=np.float32), k=4)
    assert (empty.labels == empty.labels[0]).all()
    assert (empty.labels >= 0).all()
    assert (model.predict(sp.csr_array((1, 30), dtype=np.float32), k=4).labels[0] == empty.labels[0]).all()


def test_bad_input_is_named():
    X, Y = data()
    model = LinearTree()
    with pytest.raises(xt.NotFittedError, match="call fit first"):
        model.predict(X)
    with pytest.raises(xt.InputError, match="80 rows"):
        model.fit(X[:5], Y)
    with pytest.raises(xt.InputError, match="at least one row"):
        model.fit(X[:0], Y[:0])
    model.fit(X, Y)
    with pytest.raises(xt.InputError, match="29 features"):
        model.predict(X[:, :29])
    with pytest.raises(xt.ParameterError, match="k must be an integer ≥ 1; got 0"):
        model.predict(X, k=0)
    with pytest.raises(xt.ParameterError, match="did you mean 'beam'"):
        LinearTree(beem=3)
    with pytest.raises(xt.ParameterError, match="beam must be an integer ≥ 1 or None; got 0"):
        LinearTree(beam=0)


@pytest.mark.parametrize("threads", [2, 7])
def test_the_model_does_not_depend_on_threads(threads):
    X, Y = data(n=300, n_labels=300)
    one = LinearTree(index=xt.BalancedTree(max_leaf=20), threads=1).fit(X, Y).trees[0]
    many = LinearTree(index=xt.BalancedTree(max_leaf=20), threads=threads).fit(X, Y).trees[0]
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, many.arrays[name])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=60)
def test_hostile_weights_never_leave_the_arrays(seed):
    """Damage inside the blocks is not looked for when a model is opened: search must survive it."""
    X, Y = data(n=40, n_labels=30)
    model = LinearTree(index=xt.BalancedTree(max_leaf=8, arity=4)).fit(X, Y)
    state = model.trees[0].to_state()
    rng = np.random.default_rng(seed)
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    for name in ("buckets", "bytes", "biases", "scales", "label_ranks"):
        raw = arrays[name].view(np.uint8)
        at = rng.integers(0, len(raw), 20)
        raw[at] = rng.integers(0, 256, 20)
    state.arrays = arrays
    again = PackedTree.from_state({}, state)
    for rows in (as_rows(X, n_features=30), as_rows(X[[0]], n_features=30)):
        top = search_tree(again, rows, 5, SearchSettings())
        assert ((top.labels >= -1) & (top.labels < 30)).all()


@pytest.mark.parametrize(
    "name", ["bucket_offsets", "byte_offsets", "buckets", "bytes", "scales", "biases", "label_ranks"]
)
def test_arrays_of_the_wrong_form_are_refused(name):
    X, Y = data()
    state = LinearTree().fit(X, Y).trees[0].to_state()
    for damaged in (state.arrays[name][:-1], state.arrays[name].astype(np.float64)):
        with pytest.raises(xt.StoreError):
            PackedTree.from_state({}, xt.store.State(state.meta, {**state.arrays, name: damaged}, state.parts))


def test_several_trees_are_averaged():
    X, Y = data(n=200, n_labels=60)
    index = xt.BalancedTree(max_leaf=8, arity=4)
    model = LinearTree(index=index, n_trees=3, beam=50, seed=4).fit(X, Y)
    assert len({tree.tree.children.tobytes() for tree in model.trees}) == 3
    alone = [
        search_tree(tree, as_rows(X, n_features=30, unit=True), 60, SearchSettings(beam=50)).to_csr().toarray()
        for tree in model.trees
    ]
    mean = np.mean(alone, axis=0)
    top = model.predict(X, k=4)
    np.testing.assert_allclose(top.scores, -np.sort(-mean, axis=1)[:, :4], rtol=1e-5)
    first = LinearTree(index=index, seed=4).fit(X, Y)
    np.testing.assert_array_equal(first.trees[0].arrays["bytes"], model.trees[0].arrays["bytes"])


@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize("search", ["beam", "best-first"])
def test_equal_scores_are_ordered_by_frequency_then_id(search, n_trees, tmp_path):
    """All labels are sure of themselves, with margins above 1: their scores are equal to the last bit."""
    n_labels, counts = 12, np.array([32, 35, 33, 35, 31, 39, 32, 34, 34, 37, 31, 33])
    Y = np.zeros((60, n_labels), np.float32)
    Y[:40] = np.arange(40)[:, None] < counts
    X = np.repeat(np.eye(2, dtype=np.float32), [40, 20], axis=0)  # labelled rows have the first word, others the second
    asked = np.tile(np.array([[10, 0]], np.float32), (20, 1))
    index = xt.BalancedTree(max_leaf=4, arity=2)
    model = LinearTree(index=index, n_trees=n_trees, search=search, beam=None, normalize_rows=False).fit(X, Y)
    top = model.predict(asked, k=n_labels)
    expected = np.lexsort((np.arange(n_labels), -counts))
    assert (top.scores == 1).all()
    np.testing.assert_array_equal(top.labels, np.tile(expected, (20, 1)))
    model.save(tmp_path / "m")
    for same in (model, model.stored_as("int8"), xt.load(tmp_path / "m")):
        np.testing.assert_array_equal(same.predict(asked, k=5).labels, top.labels[:, :5])  # the k-th is no accident
        np.testing.assert_array_equal(same.predict(asked[:1], k=5).labels, top.labels[:1, :5])
        np.testing.assert_array_equal(same.predict(asked[:3], k=5).labels, top.labels[:3, :5])
    assert [model.explain(asked[0], int(label)).rank for label in expected] == list(range(1, n_labels + 1))


def test_entries_that_a_row_does_not_use_are_not_looked_at():
    X, Y = data()
    model = LinearTree().fit(X, Y)
    row = X[[3]]
    expected = model.predict(row, k=5)
    row.indices, row.data = (
        np.append(row.indices, [1, 2, 3]).astype(np.int32),
        np.append(row.data, [9, 9, 9]).astype(np.float32),
    )
    np.testing.assert_array_equal(model.predict(row, k=5).scores, expected.scores)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 100])
def test_few_rows_and_many_go_different_ways_to_the_same_answer(n):
    X, Y = data(n=120)
    model = LinearTree(index=xt.BalancedTree(max_leaf=4, arity=4)).fit(X, Y)
    whole = model.predict(X, k=5)
    part = model.predict(X[:n], k=5)
    np.testing.assert_array_equal(part.labels, whole.labels[:n])
    np.testing.assert_array_equal(part.scores, whole.scores[:n])


def test_narrow_storage_keeps_precision_on_rows_it_has_not_seen():
    world = {"n_labels": 400, "n_features": 2000, "labels_per_row": 3, "features_per_row": 20, "seed": 0}
    train = xt.synthetic(n_rows=3000, **world)
    test = xt.synthetic(n_rows=3000, first_row=3000, **world)
    model = LinearTree(storage="float32").fit(train.X, train.Y)
    exact = xt.evaluate(test.Y, model.predict(test.X, k=5), metrics=["P@1", "P@3", "P@5"])
    for storage in ("float16", "int8"):
        narrow = model.stored_as(storage)
        assert narrow.trees[0].n_bytes < model.trees[0].n_bytes
        found = xt.evaluate(test.Y, narrow.predict(test.X, k=5), metrics=["P@1", "P@3", "P@5"])
        assert all(abs(found[name] - exact[name]) <= 0.1 for name in exact)


def test_saved_models_do_not_depend_on_threads(tmp_path):
    X, Y = data(n=200, n_labels=60)
    for threads in (1, 2, 7):
        LinearTree(index=xt.BalancedTree(max_leaf=8), threads=threads).fit(X, Y).save(tmp_path / str(threads))
    files = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("1", "2", "7")]
    assert files[0] == files[1] == files[2]
