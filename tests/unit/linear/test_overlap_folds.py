"""Overlap out of fold and by coverage, in training; what `predict`, `score` and `explain` say of a missed place."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from linear_stopper import Stopper

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.data import TrainingData
from xtrellis.explain import explanation
from xtrellis.index.overlap import coverage, placing_of
from xtrellis.labels import LabelSpace
from xtrellis.linear import packed
from xtrellis.linear.overlap import match, match_out_of_fold
from xtrellis.linear.train import Trainer

N, D, L = 240, 60, 40


@pytest.fixture(scope="module")
def data():
    """Labels with two meanings; rows of unit length."""
    dice = np.random.default_rng(3)
    plain = (dice.random((N, 2 * L)) < 2 / L).astype(np.float32)
    X = (plain @ dice.random((2 * L, D)) ** 3) * (dice.random((N, D)) < 0.7) + 1e-3
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(np.minimum(plain[:, :L] + plain[:, L:], 1))


def small(**params):
    overlap = xt.Overlap(**{"copies": 2, "beam": 3, "folds": 2, **params.pop("overlap", {})})
    return xt.LinearTree(**{"index": xt.BalancedTree(arity=4, max_leaf=4), "overlap": overlap, "seed": 1, **params})


def trainer(model, X, Y, tree):
    return Trainer(X, Y, tree, model.solver(), model.negative_rows(), storage=model.storage, seed=1, threads=1)


def test_every_row_is_led_by_classifiers_that_have_not_seen_it(data):
    model, given = small(), TrainingData.of(*data)
    tree = model.index.build(LabelSpace(given), seed=1)
    whole = trainer(model, given.X, given.Y, tree)
    names = []

    def make(tree, name):
        names.append(name)
        return trainer(model, given.X, given.Y, tree)

    found = match_out_of_fold(whole, make, 0, 3, 3, seed=5)
    assert names == ["round0.fold0.", "round0.fold1.", "round0.fold2."]
    fold = xt.core.generator(5, "folds").permutation(N) % 3
    assert np.ptp(np.bincount(fold)) <= 1
    for i in range(3):
        others, mine = (given.select(np.flatnonzero(rows)) for rows in (fold != i, fold == i))
        other = trainer(model, others.X, others.Y, tree)
        expected = match(other, other.train_matcher(), mine.X, 3)
        for at, row in enumerate(np.flatnonzero(fold == i)):
            ours = slice(found.offsets[row], found.offsets[row + 1])
            theirs = slice(expected.offsets[at], expected.offsets[at + 1])
            np.testing.assert_array_equal(found.clusters[ours], expected.clusters[theirs])
            np.testing.assert_array_equal(found.weights[ours], expected.weights[theirs])
    seen = match(whole, whole.train_matcher(), given.X, 3)
    now = placing_of(tree)
    assert coverage(given.Y, found, now) < coverage(given.Y, seen, now), "rows find what they have taught"


@pytest.mark.parametrize("more", [{}, {"assign": "coverage"}, {"update": False}, {"rounds": 2, "folds": 3}])
def test_a_stopped_training_goes_on_to_the_same_bytes(data, tmp_path, more):
    def make(threads=1):
        return small(overlap=more, threads=threads)

    whole, other = make().fit(*data), make(2).fit(*data)
    assert whole.overlap_rounds == other.overlap_rounds
    for stop_after in (2, 4, 5, 7):
        at = tmp_path / f"{stop_after}"
        with pytest.raises(KeyboardInterrupt), progress.listen(Stopper(stop_after)):
            make().fit(*data, checkpoint=at)
        model = make().fit(*data, checkpoint=at)
        assert model.tree == whole.tree == other.tree
        for name, array in whole.trees[0].arrays.items():
            assert model.trees[0].arrays[name].tobytes() == array.tobytes(), name
            assert other.trees[0].arrays[name].tobytes() == array.tobytes(), name
        model.discard_checkpoint()
        assert not at.exists()


def test_coverage_gives_fewer_places_the_more_a_place_must_gain(data, tmp_path):
    X, Y = data
    places = []
    for least in (1, 8, 10**6):
        model = small(overlap={"assign": "coverage", "min_gain": least, "max_cluster_size": None}).fit(X, Y)
        places.append(len(model.tree.label_slots[1]))
        assert model.overlap_rounds[0][0].copies == places[-1] / L
    assert 2 * L >= places[0] > places[1] > places[2] == L
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").overlap == model.overlap
    with pytest.raises(xt.ParameterError, match="assign must be one of"):
        xt.Overlap(assign="cover")


def test_more_folds_than_rows_and_the_estimate(data):
    X, Y = data
    few = small(overlap={"folds": 100}).fit(X[:5], Y[:5])
    assert few.predict(X[:5], k=3).labels.shape == (5, 3)
    one = small(overlap={"folds": 100}).fit(X[:1], Y[:1])
    assert one.overlap_rounds[0][0].covered_after > 0
    fixed = [small(overlap={"folds": folds}).estimate(X, Y).fixed_bytes for folds in (1, 2, 4)]
    assert fixed[0] < fixed[1] < fixed[2]
    free, tight = small(), small(memory_limit=int(1.01 * small().estimate(X, Y).least_bytes))
    for model in (free, tight):
        model.fit(X, Y)
    assert tight.trees[0].arrays["bytes"].tobytes() == free.trees[0].arrays["bytes"].tobytes()
    with pytest.raises(xt.ParameterError, match="memory_limit"):
        small(memory_limit=small().estimate(X, Y).least_bytes // 2).fit(X, Y)


@pytest.mark.parametrize("merge", ["mean", "max"])
def test_where_the_beam_misses_a_place_score_is_exact_and_explain_tells_both(data, merge):
    X, Y = data
    model = small(overlap={"merge": merge}, beam=1).fit(X, Y)
    everything = sp.csr_array(np.ones((N, L), np.float32))
    exact = model.score(X, everything).toarray()
    top = model.predict(X, k=5)
    differ = 0
    for row, label in zip(*np.nonzero(top.labels >= 0), strict=True):
        label, found = int(top.labels[row, label]), float(top.scores[row, label])
        if found == pytest.approx(float(exact[row, label]), rel=1e-5):
            continue
        differ += 1
        assert merge == "mean" or found < exact[row, label], "a place more can only raise the best"
        if differ > 20:
            break
        why = model.explain(X[[row]], label)
        assert not all(path.reached for path in why.paths)
        assert why.score == pytest.approx(found, rel=1e-4)
        assert why.open_score == pytest.approx(float(exact[row, label]), rel=1e-4)
    assert differ > 5, "else nothing was tested"
    model.set_params(beam=None)
    whole = model.predict(X, k=5)
    for row in range(0, N, 12):
        np.testing.assert_allclose(whole.scores[row], exact[row, whole.labels[row]], rtol=1e-5)
        why = model.explain(X[[row]], int(whole.labels[row, 4]))
        assert why.score == pytest.approx(why.open_score, rel=1e-6) == pytest.approx(whole.scores[row, 4], rel=1e-4)
    assert explanation.FAINT == packed.FAINT
