"""`Ensemble`: members, missing candidates, ways to combine."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.rank.candidates import Candidates, reciprocal_ranks
from xtrellis.rank.isotonic import Curve


@pytest.fixture(scope="module")
def data():
    train = xt.synthetic(n_rows=600, n_labels=80, n_features=300, seed=1)
    return train.X, train.Y


@pytest.fixture(scope="module")
def members(data):
    X, Y = data
    return [xt.preset(name, seed=i).fit(X[:500], Y[:500]) for i, name in enumerate(("xr-linear", "parabel", "bonsai"))]


def test_missing_candidates_are_scored_not_held_to_be_0(data, members):
    X, _ = data
    ensemble = xt.Ensemble.of(members, candidates=3)
    top = ensemble.predict(X, 3)
    total = sum(member.score(X, top.to_csr()).toarray() for member in members) / 3
    np.testing.assert_allclose(top.to_csr().toarray(), total, rtol=1e-5)
    np.testing.assert_allclose(ensemble.score(X, top.to_csr()).toarray(), total, rtol=1e-5)


def test_many_rows_are_answered_in_pieces(data, members, monkeypatch):
    X, _ = data
    ensemble = xt.Ensemble.of(members, candidates=3)
    whole = ensemble.predict(X, 3)
    monkeypatch.setattr("xtrellis.rank.ensemble.CHUNK", 150)
    pieces = ensemble.predict(X, 3)
    np.testing.assert_array_equal(pieces.labels, whole.labels)
    np.testing.assert_array_equal(pieces.scores, whole.scores)


def test_a_member_that_cannot_score_says_nothing(data, members):
    X, _ = data

    class Mute(xt.LinearTree):
        score = None

    mute = Mute()
    mute._trees = members[0]._trees
    ensemble = xt.Ensemble.of([mute, members[1]], candidates=3)
    top = ensemble.predict(X[:100], 3).to_csr().toarray()
    first = members[0].predict(X[:100], 3).to_csr().toarray()
    second = members[1].score(X[:100], xt.TopK.from_csr(ensemble.predict(X[:100], 3).to_csr(), 3).to_csr()).toarray()
    np.testing.assert_allclose(top, (first * (top > 0) + second) / 2, rtol=1e-5)
    with pytest.raises(xt.InputError, match="Mute cannot score"):
        ensemble.score(X, xt.TopK.from_csr(second, 3).to_csr())


def test_reciprocal_ranks():
    a = xt.TopK(np.array([[3, 1]], np.int32), np.array([[0.9, 0.2]], np.float32), 5)
    b = xt.TopK(np.array([[2, 3]], np.int32), np.array([[0.5, 0.4]], np.float32), 5)
    pool = Candidates.of([a, b])
    scores, missing = pool.scores_of(a)
    np.testing.assert_array_equal(missing, [False, True, False])
    np.testing.assert_allclose(reciprocal_ranks(pool, scores, missing), [1 / 62, 0, 1 / 61])
    scores[missing] = 0.5  # the member's own opinion, asked for afterwards
    np.testing.assert_allclose(reciprocal_ranks(pool, scores, None), [1 / 63, 1 / 62, 1 / 61])


def test_the_best_of_a_pool_are_padded():
    top = xt.TopK(np.array([[3, 1], [2, -1]], np.int32), np.array([[0.2, 0.9], [0.5, 0]], np.float32), 5)
    pool = Candidates.of([top, top])
    found = pool.best(pool.scores_of(top)[0], 4)
    np.testing.assert_array_equal(found.labels, [[1, 3, -1, -1], [2, -1, -1, -1]])
    np.testing.assert_allclose(found.scores, [[0.9, 0.2, 0, 0], [0.5, 0, 0, 0]])


@pytest.mark.parametrize("combine", ["mean", "calibrated", "reciprocal-rank"])
def test_ways_to_combine(combine, data, members, tmp_path):
    X, Y = data
    ensemble = xt.Ensemble.of(members, combine=combine, candidates=10, validation=(X[500:], Y[500:]))
    top = ensemble.predict(X, 5)
    alone = xt.evaluate(Y, members[0].predict(X, 5), ["P@1"])["P@1"]
    assert xt.evaluate(Y, top, ["P@1"])["P@1"] > alone - 5
    ensemble.save(tmp_path / "model")
    again = xt.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X, 5).scores, top.scores)
    assert again.combine == combine


def test_trained_members_have_seeds_of_their_own(data):
    X, Y = data
    ensemble = xt.Ensemble(models=[xt.LinearTree(), xt.LinearTree()], seed=4).fit(X, Y)
    assert len({member.seed for member in ensemble.members}) == 2
    assert not ensemble.models[0].fitted


def test_calibrated_members_are_trained_again_on_all_rows(data):
    X, Y = data
    ensemble = xt.Ensemble(models=[xt.LinearTree()], combine="calibrated", seed=4).fit(X, Y)
    alone = xt.LinearTree(seed=ensemble.members[0].seed).fit(X, Y)
    np.testing.assert_array_equal(ensemble.members[0].predict(X, 5).scores, alone.predict(X, 5).scores)
    scores = ensemble.predict(X, 5).scores
    assert ((scores >= 0) & (scores <= 1.001)).all()


def test_what_is_refused(data, members):
    X, Y = data
    with pytest.raises(xt.InputError, match="needs trained models"):
        xt.Ensemble.of([xt.LinearTree()])
    with pytest.raises(xt.InputError, match="needs validation"):
        xt.Ensemble.of(members, combine="calibrated")
    small = xt.LinearTree().fit(X, Y[:, :10])
    with pytest.raises(xt.InputError, match=r"same labels; they have \[10, 80\]"):
        xt.Ensemble.of([members[0], small])
    with pytest.raises(xt.ParameterError, match="models must be a list of at least one model; got \\[\\]"):
        xt.Ensemble(models=[])
    with pytest.raises(xt.InputError, match="mean nothing"):
        xt.Ensemble.of(members, combine="reciprocal-rank").score(X, Y)


def test_members_by_name_and_by_text():
    ensemble = xt.preset("xr-linear, bonsai++", candidates=50)
    assert [type(m).__name__ for m in ensemble.models] == ["LinearTree", "Reranked"]
    ensemble.set_from_text("models.1.base.beam", "20")
    ensemble.set_from_text("combine", "reciprocal-rank")
    assert ensemble.models[1].base.beam == 20
    assert ensemble.get_params()["models__1__base__beam"] == 20
    with pytest.raises(xt.ParameterError, match="by its number, 0 to 1"):
        ensemble.set_from_text("models.2.beam", "3")
    with pytest.raises(xt.ParameterError, match="beam must be an integer"):
        ensemble.set_params(candidates=7, models__0__beam=5, models__1__base__beam=0)
    assert (ensemble.candidates, ensemble.models[0].beam) == (50, 10)
    ensemble.set_params(candidates=7, models__0__beam=5)
    assert (ensemble.candidates, ensemble.models[0].beam) == (7, 5)


def test_a_hierarchy_by_name_reaches_the_members():
    """Names come with the data, which every member is trained on, at any depth."""
    tree = xt.GivenTree(parents={"pear": "fruit", "plum": "fruit", "leek": "greens", "fruit": "", "greens": ""})
    texts, names = ["a pear", "a plum", "a leek"] * 5, [["pear"], ["plum"], ["leek"]] * 5
    ensemble = xt.Ensemble(models=[xt.LinearTree(index=tree), xt.Reranked(base=xt.LinearTree(index=tree))])
    tagger = xt.Tagger(xt.Vectorizer(), ensemble).fit(texts, names)
    assert tagger.tag("one plum", k=1)[0].label == "plum"
    with pytest.raises(xt.ParameterError, match="no preset 'bonsaii'; did you mean 'bonsai'"):
        xt.preset("xr-linear,bonsaii")


def test_the_curve_rises_and_fits():
    rng = np.random.default_rng(0)
    scores = rng.random(20000)
    curve = Curve.learn(scores, rng.random(20000) < scores**2)
    at = np.linspace(0.05, 0.95, 50)
    assert (np.diff(curve(at)) > 0).all()
    np.testing.assert_allclose(curve(at), at**2, atol=0.05)
    assert Curve.learn([], [])(0.5) < 1e-3


@pytest.mark.parametrize("k", [1, 4, 40])
def test_the_mean_of_trees_is_searched_as_one_model(k):
    """Beside the mean of what each member says of every label."""
    data = xt.synthetic(n_rows=300, n_labels=40, n_features=120, seed=3)
    models = [xt.LinearTree(index=xt.BalancedTree(max_leaf=4, arity=2), beam=None, seed=i) for i in range(3)]
    model = xt.Ensemble(models=models, candidates=40).fit(data.X, data.Y)
    assert xt.LinearTree.searched_as_one(model.members)
    every = model.score(data.X, np.ones((300, 40)))
    best = xt.TopK.from_csr(every, k)
    for threads in (1, 3):
        top = model.set_params(threads=threads).predict(data.X, k=k)
        np.testing.assert_array_equal(top.scores, best.scores)
        np.testing.assert_array_equal(top.labels, best.labels)
    np.testing.assert_array_equal(model.predict(data.X[:1], k=k).labels, top.labels[:1])


def test_trees_that_see_rows_in_different_ways_are_asked_one_by_one():
    data = xt.synthetic(n_rows=100, n_labels=10, n_features=60, seed=3)
    for models in (
        [xt.LinearTree(normalize_rows=True), xt.LinearTree(normalize_rows=False)],
        [xt.LinearTree(), xt.LinearTree(n_trees=2)],
        [xt.LinearTree(), xt.Neighbors()],
    ):
        model = xt.Ensemble(models=models).fit(data.X, data.Y)
        assert not xt.LinearTree.searched_as_one(model.members)
        assert model.predict(data.X, 3).labels.shape == (100, 3)
