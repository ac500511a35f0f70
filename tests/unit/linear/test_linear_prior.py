"""`prior`: scores divided by a power of the label's frequency, against NumPy, in every search."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.labels import prior_offsets
from xtrellis.linear.model import LinearTree

N_LABELS = 60
INDEX = xt.BalancedTree(max_leaf=5, arity=4)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 40), density=0.3, rng=rng, dtype=np.float32, format="csr")
    Y = rng.random((300, N_LABELS)) < 0.3 * np.linspace(0.02, 1, N_LABELS) ** 2
    Y[:, 7] = False  # a label without rows
    return X, sp.csr_array(Y.astype(np.float32))


def weights_of(Y, prior):
    """(rows / rows of the most favoured label) to the power −prior; labels without rows come last."""
    counts = np.asarray(Y.sum(axis=0)).ravel()
    rows = np.maximum(counts, 1)
    best = counts[counts > 0].min() if prior > 0 else counts.max()
    weights = (rows / best) ** -prior
    weights[counts == 0] = weights.min() / np.e
    return weights


PLACES = [
    {},
    {"n_trees": 3},
    {"overlap": xt.Overlap(copies=2, merge="max")},
    {"overlap": xt.Overlap(copies=2, merge="mean")},
    {"transform": "sigmoid", "storage": "int8"},
]


@pytest.mark.parametrize("params", PLACES)
@pytest.mark.parametrize("prior", [0.4, -0.3])
@pytest.mark.parametrize("search", ["beam", "best-first"])
def test_answers_are_those_of_numpy(data, params, prior, search):
    X, Y = data
    model = LinearTree(index=INDEX, beam=None, search=search, **params).fit(X, Y)
    weights = weights_of(Y, prior)
    plain = model.predict(X, k=N_LABELS)
    dense = np.zeros((X.shape[0], N_LABELS))
    np.put_along_axis(dense, plain.labels, plain.scores.astype(np.float64), axis=1)
    expected = -np.sort(-dense * weights, axis=1)
    model.set_params(prior=prior)
    for k in (1, 5, N_LABELS):
        top = model.predict(X, k=k)
        np.testing.assert_allclose(top.scores, expected[:, :k], rtol=2e-5, atol=1e-30)
        found = np.take_along_axis(dense * weights, top.labels, axis=1)
        np.testing.assert_allclose(top.scores, found, rtol=2e-5, atol=1e-30)
    alone = [model.predict(X[[i]], k=5) for i in range(20)]
    np.testing.assert_array_equal(np.concatenate([one.scores for one in alone]), model.predict(X, k=5).scores[:20])
    pairs = sp.csr_array(np.ones((X.shape[0], N_LABELS), np.float32))
    np.testing.assert_allclose(model.score(X, pairs).toarray(), dense * weights, rtol=2e-5, atol=1e-30)
    model.set_params(prior=0)
    np.testing.assert_array_equal(model.predict(X, k=N_LABELS).scores, plain.scores)


def test_a_beam_holds_the_same_clusters_with_any_prior(data):
    X, Y = data
    model = LinearTree(index=INDEX, beam=2).fit(X, Y)
    plain = model.predict(X, k=N_LABELS)
    weighed = model.set_params(prior=0.5).predict(X, k=N_LABELS)
    assert (np.sort(plain.labels, axis=1) == np.sort(weighed.labels, axis=1)).all()
    assert (plain.labels != weighed.labels).any()
    few = model.predict(X, k=3)
    assert (few.labels == weighed.labels[:, :3]).all()
    for threads in (1, 2, 7):
        again = model.set_params(threads=threads).predict(X, k=3)
        assert (again.labels == few.labels).all()
        assert (again.scores == few.scores).all()


def test_some_labels_only(data):
    X, Y = data
    model = LinearTree(index=INDEX, beam=None, prior=0.5).fit(X, Y)
    wanted = np.array([1, 30, 59])
    everything, some = model.predict(X, k=N_LABELS), model.predict(X, k=3, labels=wanted)
    for all_labels, few in zip(everything.labels, some.labels, strict=True):
        assert (all_labels[np.isin(all_labels, wanted)] == few).all()


@pytest.mark.parametrize("params", [*PLACES[:4], {"beam": 2}])
def test_explanations_add_up(data, params):
    X, Y = data
    model = LinearTree(index=INDEX, prior=0.4, **{"beam": 6, **params}).fit(X, Y)
    weights = weights_of(Y, 0.4)
    for i in range(4):
        top = model.predict(X[[i]], k=N_LABELS)
        exact = model.score(X[[i]], sp.csr_array(np.ones((1, N_LABELS), np.float32))).toarray()[0]
        for place, (label, score) in enumerate(next(iter(top))):
            why = model.explain(X[[i]], label)
            assert why.score == pytest.approx(score, rel=1e-4)
            assert why.open_score == pytest.approx(float(exact[label]), rel=1e-4)
            assert why.label_weight == pytest.approx(weights[label], rel=1e-5)
            assert why.to_dict().get("label_weight", 1.0) == why.label_weight
            if top.scores[0, place] > 1e-6:
                assert why.rank == place + 1
            for path in why.paths:
                for step in path.steps:
                    assert step.margin == pytest.approx(step.bias + sum(p.contribution for p in step.pushes), abs=1e-4)
    stream = io.StringIO()
    Console(file=stream, width=100, highlight=False).print(model.explain(X[[0]], N_LABELS - 1).render())
    assert f"× {weights[N_LABELS - 1]:.3f} for how frequent the label is" in stream.getvalue()


def test_it_is_kept(data, tmp_path):
    X, Y = data
    trained = LinearTree(index=INDEX, prior=0.3, seed=1).fit(X, Y)
    later = LinearTree(index=INDEX, seed=1).fit(X, Y).set_params(prior=0.3)
    trained.save(tmp_path / "m")
    loaded = xt.load(tmp_path / "m")
    first = trained.predict(X, k=5)
    for other in (later, loaded, trained.stored_as("float16"), loaded.set_params(transform="l3-hinge")):
        again = other.predict(X, k=5)
        assert (again.labels == first.labels).all()
        assert (again.scores == first.scores).all()
    plain = loaded.set_params(prior=0.0).predict(X, k=5)
    assert (plain.scores == LinearTree(index=INDEX, seed=1).fit(X, Y).predict(X, k=5).scores).all()


def test_learning_on_counts_the_new_rows(data):
    X, Y = data
    extra = sp.csr_array(np.repeat(np.eye(N_LABELS, dtype=np.float32)[[3]], 200, axis=0))
    more = xt.Dataset(X=sp.vstack([X, X[:200]], format="csr"), Y=sp.vstack([Y, extra], format="csr"))
    model = LinearTree(index=INDEX, prior=0.5).fit(X, Y)
    whole = xt.data.TrainingData.of(more.X, more.Y)
    learned = model.updated(whole, np.arange(300, 500), np.zeros(0, np.int64))
    counts = np.asarray(more.Y.sum(axis=0)).ravel()
    for tree in learned.trees:
        np.testing.assert_array_equal(tree.label_offsets, prior_offsets(counts.astype(np.int64), 0.5))


def test_a_model_without_counts_says_so(data):
    X, Y = data
    model = LinearTree(index=INDEX).fit(X, Y)
    state = model.to_state()
    del state.arrays["label_counts"]
    old = LinearTree.from_state(model.get_params(deep=False), state)
    assert (old.predict(X).scores == model.predict(X).scores).all()
    with pytest.raises(xt.ParameterError, match=r"prior must be 0, got 0.2: .* train it again"):
        old.set_params(prior=0.2)
    assert old.prior == 0
    with pytest.raises(xt.ParameterError, match="prior must be"):
        model.set_params(prior="much")
    state = model.to_state()
    state.arrays["label_counts"] = state.arrays["label_counts"][1:]
    with pytest.raises(xt.StoreError, match="label_counts must be int64"):
        LinearTree.from_state(model.get_params(deep=False), state)


def test_held_out_rows_choose():
    data = xt.synthetic(n_rows=1500, n_labels=100, n_features=300, seed=3)
    model = LinearTree(index=INDEX, threads=1)
    trials = xt.choose_prior(model, data.X, data.Y, priors=[0, 0.2, 2.0], max_loss=1.0)
    assert not model.fitted
    assert [trial.prior for trial in trials] == [0, 0.2, 2.0]
    chosen = [trial for trial in trials if trial.chosen]
    assert len(chosen) == 1
    best = [max(getattr(trial, name) for trial in trials) for name in ("precision", "ndcg")]
    kept = [t for t in trials if t.precision >= best[0] - 1 and t.ndcg >= best[1] - 1]
    assert chosen[0] is max(kept, key=lambda trial: trial.propensity_scored)
    free = xt.choose_prior(model, data.X, data.Y, priors=[0, 0.2, 2.0], max_loss=100)
    assert max(free, key=lambda trial: trial.propensity_scored).chosen
    with pytest.raises(xt.InputError, match="at least one number"):
        xt.choose_prior(model, data.X, data.Y, priors=[])
    with pytest.raises(xt.InputError, match="too few"):
        xt.choose_prior(model, data.X[:1], data.Y[:1])
    with pytest.raises(xt.InputError, match="a LinearTree"):
        xt.choose_prior(xt.Neighbors(), data.X, data.Y)
