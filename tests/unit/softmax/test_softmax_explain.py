"""Explanations of SoftmaxTree as users meet them: scores are those of predictions, and parts add up.

That margins are right, feature by feature, is looked at in parity/test_softmax_parity.py.
"""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.model import Explains, why_no_explanation
from xtrellis.softmax.network import WEIGHTINGS, SoftmaxNetwork

L, D, UNSEEN = 60, 300, 7


@pytest.fixture(scope="module")
def data():
    """Label 7 has no row."""
    made = xt.synthetic(n_rows=500, n_labels=L, n_features=D, seed=1)
    Y = made.Y.tolil()
    Y[:, UNSEEN] = 0
    return made.X, Y.tocsr()


@pytest.fixture(scope="module")
def model(data):
    return xt.SoftmaxTree(index=xt.InterpolatedTree(arity=4, max_leaf=1), dim=16, epochs=5).fit(*data)


def shown(why, **options):
    stream = io.StringIO()
    Console(file=stream, width=140, highlight=False).print(why.render(**options))
    return stream.getvalue()


def check(model, x, labels=range(L)):
    """Scores and ranks are those of predict, the best path has them too, and all parts add up."""
    top = model.predict(x, k=model.n_labels)
    for label in labels:
        why = model.explain(x, label)
        assert top.labels[0, why.rank - 1] == label
        assert why.score == top.scores[0, why.rank - 1]
        assert why.paths[0].score == pytest.approx(why.score, rel=1e-4, abs=1e-7)
        for path in why.paths:
            assert path.reached
            assert path.score == pytest.approx(np.prod([step.score for step in path.steps]))
            for step in path.steps:
                assert step.margin == pytest.approx(step.bias + sum(push.contribution for push in step.pushes))
                sizes = [abs(push.contribution) for push in step.pushes]
                assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("index", [xt.HuffmanTree(), xt.BalancedTree(arity=8, max_leaf=5), xt.FlatTree()], ids=repr)
def test_scores_and_ranks_are_those_of_predict(data, index, weighting):
    X, Y = data
    model = xt.SoftmaxTree(index=index, dim=16, epochs=3, weighting=weighting).fit(X, Y)
    for i in range(3):
        check(model, X[[i]])
    check(model, sp.csr_array((1, D), dtype=np.float32))


def test_a_label_with_several_parents_has_as_many_paths(data, tmp_path):
    X, Y = data
    edges = [(label, f"g{label % 6}") for label in range(L)] + [(5, "g1"), (5, "g2"), (11, "g3")]
    (tmp_path / "edges.tsv").write_text("\n".join(f"{child}\t{parent}" for child, parent in edges))
    model = xt.SoftmaxTree(index=xt.GivenTree(path=str(tmp_path / "edges.tsv")), dim=16, epochs=3).fit(X, Y)
    for i in range(3):
        check(model, X[[i]])
        why = model.explain(X[[i]], 5)
        assert len(why.paths) == 3
        assert len({path.steps[0].node for path in why.paths}) == 3
        assert why.score == pytest.approx(max(path.score for path in why.paths), rel=1e-4)
        assert why.deciding == why.paths[:1]
        assert len(model.explain(X[[i]], 11).paths) == 2
        assert len(model.explain(X[[i]], 4).paths) == 1
    assert "place 3 of 3" in shown(why)
    assert "(2 more places in the tree)" in shown(why, compact=True)


def test_a_label_that_no_row_had(data, model):
    X, Y = data
    assert Y[:, [UNSEEN]].nnz == 0
    check(model, X[[0]], [UNSEEN])
    assert model.explain(X[[0]], UNSEEN).score < model.predict(X[[0]], k=1).scores[0, 0]
    assert f"label {UNSEEN}" in shown(model.explain(X[[0]], UNSEEN))


def test_pushes_say_what_moves_the_answer(data, model):
    """Without the feature that pushed most for the best label, its probability falls."""
    X, _ = data
    fell = 0
    for i in range(20):
        label, score = next(iter(model.predict(X[[i]], k=1)))[0]
        feature = max(model.explain(X[[i]], label).pushes().items(), key=lambda item: item[1])[0]
        less = X[[i]].tolil()
        less[0, feature] = 0
        fell += model.explain(less.tocsr(), label).score < score
    assert fell >= 18


def test_clusters_are_told_by_their_labels(data, model):
    X, Y = data
    counts = np.asarray(Y.sum(axis=0)).ravel()
    tree, label = model.tree, int(np.argmax(model.tree.label_depths))
    for given in (None, counts):
        (path,) = model.explain(X[[0]], label, label_counts=given).paths
        assert [step.node is None for step in path.steps] == [False] * (len(path.steps) - 1) + [True]
        assert len(path.steps) == tree.label_depths[label] >= 2
        for step in path.steps[:-1]:
            below = tree.labels_below(step.node)
            assert step.n_labels == len(below) > 1
            assert label in below
            assert set(step.labels) <= set(below.tolist())
            assert len(step.labels) == min(5, len(below))
            weight = -tree.label_depths if given is None else counts
            assert sorted(weight[list(step.labels)]) == sorted(np.sort(weight[below])[::-1][: len(step.labels)])
        assert (path.steps[-1].labels, path.steps[-1].n_labels) == ((label,), 1)


def test_all_of_it_is_data_and_survives_the_store(data, model, tmp_path):
    X, _ = data
    label = int(model.predict(X[[1]], k=1).labels[0, 0])
    why = model.explain(X[[1]], label)
    plain = json.loads(json.dumps(why.to_dict()))
    assert (plain["label"], plain["rank"], plain["score"], plain["n_found"]) == (label, 1, why.score, L)
    assert [step["margin"] for step in plain["paths"][0]["steps"]] == [step.margin for step in why.paths[0].steps]
    assert f"number 1 of {L} labels found" in shown(why)
    assert "bias" in shown(why, compact=True)
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").explain(X[1].toarray().ravel(), label) == why
    assert model.explain(X[[1]], label, texts=["whatever"]) == why  # reads none


def test_what_it_cannot_explain_is_told(data, model):
    X, _ = data
    assert isinstance(model, Explains)
    assert why_no_explanation(model) is None
    for wrong, message in (({"label": L}, "label"), ({"label": -1}, "label"), ({"label_counts": [1]}, "label_counts")):
        with pytest.raises(ValueError, match=message):
            model.explain(X[[0]], **{"label": 0, **wrong})
    with pytest.raises(xt.InputError, match="x has 3 features"):
        model.explain([1, 2, 3], 0)
    with pytest.raises(xt.InputError, match="one row"):
        model.explain(X[:2], 0)
    with pytest.raises(xt.NotFittedError):
        xt.SoftmaxTree().explain(X[[0]], 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_damaged_model_is_told_too(data, model, bad):
    network, spoiled = model.network, xt.SoftmaxTree()
    for embeddings, units in (
        (np.full_like(network.embeddings, bad), network.units),
        (network.embeddings, np.full_like(network.units, bad)),
    ):
        spoiled._network = SoftmaxNetwork(network.tree, embeddings, units, weighting="unit", bias=1.0)
        for label in (0, UNSEEN):
            assert shown(spoiled.explain(data[0][[0]], label))


def test_a_tagger_and_an_ensemble_explain_with_it(data, model):
    texts = [f"word{i % 7} also thing{i % 5}" for i in range(210)]
    tagger = xt.Tagger(xt.Vectorizer(), xt.SoftmaxTree(dim=16)).fit(texts, [[f"tag{i % 7}"] for i in range(210)])
    (tag,) = tagger.tag("word3 also thing1", k=1)
    why = tagger.explain("word3 also thing1", tag.label)
    assert (tag.label, why.score) == ("tag3", tag.score)
    assert max(why.words, key=lambda word: word.push).text == "word3"
    X, Y = data
    other = xt.SoftmaxTree(index=xt.FlatTree(), dim=8, epochs=2).fit(X, Y)
    both = xt.Ensemble.of([model, other])
    label, score = next(iter(both.predict(X[[2]], k=1)))[0]
    told = both.explain(X[[2]], label)
    assert told.score == pytest.approx(score, rel=1e-6)
    assert told.members == (model.explain(X[[2]], label), other.explain(X[[2]], label))
