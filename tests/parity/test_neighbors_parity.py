"""Neighbours are found exactly: the same rows, in the same order, with the same bits as comparing everything."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import xtrellis as xt
from xtrellis.neighbors import index, order

sys.path.insert(0, str(Path(__file__).parent))
import neighbors_twin as twin


@pytest.fixture(scope="module", autouse=True, params=["in blocks", "laid out"])
def laid_out(request):
    """Everything in both ways of searching; how many queries there are decides otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "LONG", 0 if request.param == "laid out" else 2**31)
        patch.setattr(index, "PAYS", 2**31)
        yield request.param


def test_long_queries_choose_the_way(monkeypatch, laid_out):
    X = zipf_rows(900, 400, 40, 5)
    model = xt.Neighbors().fit(X, labels_for(900, 20, 1))
    made = []
    table = index.native.Table
    monkeypatch.setattr(index.native, "Table", lambda *args: made.append(1) or table(*args))
    monkeypatch.setattr(index, "LONG", 20)
    for pays, expected in ((1, 0), (2**31, 1)):
        monkeypatch.setattr(index, "PAYS", pays)
        made.clear()
        model.nearest(X[:100], 5)
        assert len(made) == expected
    monkeypatch.setattr(index, "LONG", 41)
    made.clear()
    model.nearest(X[:100], 5)
    assert not made


def test_single_long_queries_choose_it_once_they_are_many(monkeypatch, laid_out):
    X = zipf_rows(900, 400, 40, 5)
    model = xt.Neighbors(threads=1).fit(X, labels_for(900, 20, 1))
    expected = model.predict(X[:40], 5)
    values = sum(int(segment.arrays["begins"][-1]) for segment in model.index.segments)
    monkeypatch.setattr(index, "PAYS", values // 10 + 1)
    monkeypatch.setattr(index, "LONG", 0)
    for i in range(40):
        one = model.predict(X[[i]], 5)
        assert (model.index._table is not None) == (i >= 9)
        np.testing.assert_array_equal(one.labels[0], expected.labels[i])
        assert one.scores.tobytes() == expected.scores[[i]].tobytes()
    model.add(X[:3], labels_for(3, 20, 1))
    assert model.index._table is None


def mixed_rows(n: int, seed: int, *, dense: int = 24, words: int = 300) -> sp.csr_array:
    """Signed dense vectors beside sparse words, both of length 1 or missing."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, dense))
    vectors[rng.random(n) < 0.1] = 0
    vectors[n // 3 : n // 3 + 40] = vectors[n // 3]  # with the same words: ties
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return sp.csr_array(
        sp.hstack([sp.csr_array(vectors), scaled(zipf_rows(n, words, 6, 5))], format="csr"), dtype=np.float32
    )


@pytest.mark.parametrize("kind", ["vectors beside words", "vectors alone", "signed words", "not scaled"])
def test_values_below_0(kind, monkeypatch):
    if kind == "signed words":
        X, Q = zipf_rows(700, 300, 6, 1, signed=True), zipf_rows(30, 300, 6, 2, signed=True)
    else:
        words = 1 if kind == "vectors alone" else 300
        X, Q = mixed_rows(700, 1, words=words), mixed_rows(30, 2, words=words)
    if kind == "not scaled":
        X, Q = (100 * X).astype(np.float32), (Q / 100).astype(np.float32)
    Y, unit = labels_for(700, 20, 3), kind != "not scaled"
    model = xt.Neighbors(normalize_rows=unit, neighbors=15, threads=1).fit(X, Y)
    scores = twin.similarities(*((scaled(X), scaled(Q)) if unit else (X, Q)))
    exclude = np.random.default_rng(0).integers(-1, 700, 30)
    answers = []
    for few in (2**31, 0):  # one by one; laid out
        monkeypatch.setattr(index, "FEW", few)
        for k in (1, 15, 700):
            rows, similar = twin.nearest(scores, k)
            found = model.nearest(Q, k)
            np.testing.assert_array_equal(found.labels, rows)
            assert found.scores.tobytes() == similar.astype(np.float32).tobytes()
        assert (model.index._table is None) == (few > 0)
        one = [model.nearest(Q[[i]], 15, exclude=exclude[[i]]) for i in range(30)]
        many = model.nearest(Q, 15, exclude=exclude)
        assert np.concatenate([top.scores for top in one]).tobytes() == many.scores.tobytes()
        wanted = labels_for(30, 20, 7)
        wanted.data[wanted.indptr[0] : wanted.indptr[3]] = 0
        wanted.eliminate_zeros()  # rows that nothing is asked of
        answers.append((many.labels, model.predict(Q, 5).scores, model.score(Q, wanted).data))
        assert (many.labels != exclude[:, None]).all()
    for blocks, laid in zip(*answers, strict=True):
        assert blocks.tobytes() == laid.tobytes()
    model.remove(np.arange(0, 700, 3))
    gone = np.isin(np.arange(700), np.arange(0, 700, 3))
    rows, _ = twin.nearest(np.where(gone, 0, scores), 9)
    model.nearest(Q, 9)
    np.testing.assert_array_equal(model.nearest(Q, 9).labels, rows)


def test_values_too_large_for_float(monkeypatch):
    monkeypatch.setattr(index, "FEW", 0)
    X = sp.csr_array(np.array([[1e20, -1e20], [1e20, 1.0], [1.0, 1e10]], np.float32))
    model = xt.Neighbors(normalize_rows=False, threads=1).fit(X, np.eye(3, dtype=np.float32))
    assert model.nearest(np.array([[1e18, 0]], np.float32), 3).labels.tolist() == [[0, 1, 2]]


def zipf_rows(n: int, d: int, per_row: int, seed: int, *, exponent: float = 1.1, signed: bool = False) -> sp.csr_array:
    """Features of very different frequency, as words are; several rows are equal, some are empty."""
    rng = np.random.default_rng(seed)
    p = np.arange(1, d + 1) ** -exponent
    columns = rng.choice(d, (n, per_row), p=p / p.sum())
    columns[n // 3 : n // 3 + 40] = columns[n // 3]  # ties
    kept = rng.random((n, per_row)) < 0.8
    kept[rng.integers(0, n, 5)] = False
    values = np.round(rng.random((n, per_row)) * 8 + 1) * (np.log(d / (columns + 1)) + 0.3)
    if signed:
        values *= rng.choice([-1, 1], values.shape)
    rows = np.repeat(np.arange(n), per_row).reshape(n, per_row)
    X = sp.csr_array((values[kept], (rows[kept], columns[kept])), shape=(n, d)).astype(np.float32)
    X.sum_duplicates()
    return X


def labels_for(n: int, n_labels: int, seed: int) -> sp.csr_array:
    Y = sp.csr_array(sp.random_array((n, n_labels), density=3 / n_labels, rng=np.random.default_rng(seed)))
    Y.data[:] = 1
    return Y.astype(np.float32)


def scaled(X: sp.csr_array) -> sp.csr_array:
    from xtrellis.arrays import as_features, unit_rows

    return unit_rows(as_features(X))


# With 9,000 rows lists are of both kinds; 150,000 features are more than 16 bits tell apart.
WORLDS = {
    "short rows": (9000, 400, 8, {}),
    "long rows": (5000, 3000, 60, {}),
    "wide": (200, 150_000, 12, {"exponent": 0.1}),
    "signed": (600, 200, 10, {"signed": True}),
    "few": (30, 50, 6, {}),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("in_order", [True, False])
def test_the_nearest_rows_are_those_of_comparing_all(name, in_order, monkeypatch):
    n, d, per_row, more = WORLDS[name]
    monkeypatch.setattr(order, "FROM", 10**9 if in_order else 1)
    monkeypatch.setattr(order, "LEAF", 64)
    X, Q = zipf_rows(n, d, per_row, 0, **more), zipf_rows(25, d, per_row, 1, **more)
    Q = sp.csr_array(sp.vstack([Q, X[[0, n // 3, n - 1]]]))
    model = xt.Neighbors(threads=2).fit(X, labels_for(n, 20, 2))
    assert bool(len(model.index.segments[0].arrays["numbers"])) == (not in_order and name != "signed")
    scores = twin.similarities(scaled(X), scaled(Q))
    for k in (1, 7, 50, n):
        rows, similar = twin.nearest(scores, k)
        found = model.nearest(Q, k)
        np.testing.assert_array_equal(found.labels, rows)
        np.testing.assert_array_equal(found.scores, similar)


def test_all_kinds_of_lists_take_part():
    arrays = xt.Neighbors().fit(zipf_rows(9000, 400, 8, 0), labels_for(9000, 20, 2)).index.segments[0].arrays
    assert len(arrays["list_blocks"]) > 100
    assert len(arrays["dense_ids"]) > 3


def test_votes_are_those_of_the_twin():
    X, Y, Q = zipf_rows(3000, 300, 9, 3), labels_for(3000, 40, 4), zipf_rows(60, 300, 9, 5)
    rows, similar = twin.nearest(twin.similarities(scaled(X), scaled(Q)), 20)
    for power, frequency in ((2.0, 0.0), (1.0, 0.5), (0.0, 0.0), (3.5, 0.25)):
        model = xt.Neighbors(neighbors=20, power=power, frequency=frequency).fit(X, Y)
        labels, scores = twin.votes(rows, similar, Y, 10, power=power, frequency=frequency)
        found = model.predict(Q, 10)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-6)
        agree = found.labels == labels  # labels whose scores differ in the last bit may change places
        assert agree.mean() > 0.99


def test_without_itself_a_training_row_is_a_stranger():
    X, Y = zipf_rows(500, 80, 6, 6), labels_for(500, 15, 7)
    model = xt.Neighbors(neighbors=9).fit(X, Y)
    scores = twin.similarities(scaled(X), scaled(X))
    rows, similar = twin.nearest(scores, 9, np.eye(500, dtype=bool))
    found = model.nearest(X, exclude=np.arange(500))
    np.testing.assert_array_equal(found.labels, rows)
    np.testing.assert_array_equal(found.scores, similar)
    alone = model.leave_one_out(5)
    np.testing.assert_array_equal(alone.labels, model.votes(X, 5, exclude=np.arange(500)).labels)
    np.testing.assert_array_equal(alone.scores, model.votes(X, 5, exclude=np.arange(500)).scores)
    for row in (3, 77, 499):
        others = np.delete(np.arange(500), row)
        refit = xt.Neighbors(neighbors=9).fit(X[others], Y[others]).predict(X[[row]], 5)
        assert refit.scores.tobytes() == alone.scores[row : row + 1].tobytes()
    some = model.leave_one_out(5, rows=[77, 3])
    np.testing.assert_array_equal(some.labels, alone.labels[[77, 3]])


@st.composite
def small_worlds(draw):
    """Few values, so that ties are everywhere; empty rows, explicit zeros, negative values, repeated queries."""
    n, d = draw(st.integers(1, 40)), draw(st.integers(1, 12))
    levels = draw(st.sampled_from([[0.0, 1.0], [0.0, 0.0, 1.0, 2.0, 3.0], [-1.0, 0.0, 0.0, 1.0], [0.0, 1e-3, 1e3]]))
    cells = st.sampled_from(levels)
    X = np.array(draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n)), np.float32)
    Q = np.array(draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=1, max_size=4)), np.float32)
    return X, Q, draw(st.integers(1, n + 2)), draw(st.booleans())


@settings(max_examples=150, deadline=None)
@given(small_worlds())
def test_small_and_odd_rows(world):
    X, Q, k, unit = world
    Y = sp.csr_array(np.ones((len(X), 1), np.float32))
    model = xt.Neighbors(normalize_rows=unit, threads=1).fit(X, Y)
    X, Q = sp.csr_array(X), sp.csr_array(Q)
    scores = twin.similarities(*((scaled(X), scaled(Q)) if unit else (X, Q)))
    rows, similar = twin.nearest(scores, k)
    found = model.nearest(Q, k)
    np.testing.assert_array_equal(found.labels, rows)
    np.testing.assert_array_equal(found.scores, similar)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_rows_that_come_and_go(data):
    """Whatever is added and removed: the answers are those of a model that is fitted to what is left."""
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    n, Q = data.draw(st.integers(1, 60)), zipf_rows(6, 30, 5, 9)
    X, Y = zipf_rows(300, 30, 5, 8), labels_for(300, 12, 9)
    model, there, at = xt.Neighbors(neighbors=8).fit(X[:n], Y[:n]), list(range(n)), n
    for _ in range(data.draw(st.integers(1, 6))):
        if data.draw(st.booleans()) or len(there) < 3:
            more = int(rng.integers(1, 40))
            assert model.add(X[at : at + more], Y[at : at + more]).tolist() == list(range(at, at + more))
            there += range(at, at + more)
            at += more
        else:
            gone = rng.choice(there, int(rng.integers(1, len(there))), replace=False)
            model.remove(gone)
            there = sorted(set(there) - set(gone.tolist()))
    fresh = xt.Neighbors(neighbors=8).fit(X[there], Y[there])
    assert model.n_rows == fresh.n_rows == len(there)
    np.testing.assert_array_equal(model.index.label_counts, fresh.index.label_counts)
    ours, theirs = model.nearest(Q), fresh.nearest(Q)
    k = theirs.k
    np.testing.assert_array_equal(ours.scores[:, :k], theirs.scores)
    numbers = np.append(there, -1)[theirs.labels]
    np.testing.assert_array_equal(ours.labels[:, :k], numbers)
    ours, theirs = model.predict(Q, 12), fresh.predict(Q, 12)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_array_equal(ours.scores, theirs.scores)
