"""Models made of models: explanations add up and agree with predictions; estimates, texts and label features."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.model import Estimate, can_score, one_after_another, why_no_explanation


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 50)) < 3 / 50).astype(np.float32)
    X = (Y @ rng.random((50, 40))) * (rng.random((300, 40)) < 0.4)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def small(**params: Any) -> xt.LinearTree:
    return xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=5), **{"beam": 4, **params})


def shown(why: xt.Explanation, **options: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=120, highlight=False).print(why.render(**options))
    return stream.getvalue()


@pytest.mark.parametrize("params", [{}, {"calibrate": False}, {"blend": "sum"}])
def test_a_reranked_explanation_is_what_predict_answers(data: Any, params: Any) -> None:
    X, Y = data
    model = xt.Reranked(base=small(), candidates=8, **params).fit(X, Y)
    top, base = model.predict(X[:3], k=8), model.fitted_base.predict(X[:3], k=8)
    for i in range(3):
        for place, (label, score) in enumerate(list(top)[i]):
            why = model.explain(X[[i]], label)
            assert (why.rank, why.n_found) == (place + 1, 8)
            assert why.score == pytest.approx(score, rel=1e-6)
            opinion = why.opinion
            assert opinion is not None
            assert opinion.among
            assert opinion.base_score == pytest.approx(dict(list(base)[i])[label], rel=1e-6)
            assert opinion.margin == pytest.approx(opinion.bias + sum(p.contribution for p in opinion.pushes))
            assert opinion.score == pytest.approx(np.exp(-(max(0, 1 - opinion.margin) ** 3)), rel=1e-4)
            assert (opinion.probability is None) == (params == {"calibrate": False})
            pushes = model.fitted_base.explain(X[[i]], label).pushes()
            for push in opinion.pushes:
                assert why.pushes()[push.feature] == pytest.approx(pushes.get(push.feature, 0) + push.contribution)
            assert "ranker" in shown(why)
            assert json.loads(json.dumps(why.to_dict()))["opinion"]["among_candidates"]
    missing = next(label for label in range(50) if label not in base.labels[0])
    why = model.explain(X[[0]], missing)
    assert (why.score, why.rank) == (0.0, None)
    assert why.opinion is not None
    assert not why.opinion.among
    assert shown(why, compact=True)


@pytest.mark.parametrize("combine", ["mean", "reciprocal-rank"])
def test_an_ensemble_explains_by_its_members(data: Any, combine: str) -> None:
    X, Y = data
    models = [small(), xt.Reranked(base=small(), candidates=8)]
    model = xt.Ensemble(models=models, combine=combine, candidates=6).fit(X, Y)
    label, score = next(iter(model.predict(X[[1]], k=1)))[0]
    why = model.explain(X[[1]], label)
    assert why.rank == 1
    assert why.reached
    assert why.score == pytest.approx(score, rel=1e-6)
    assert [type(member.opinion).__name__ for member in why.members] == ["NoneType", "Opinion"]
    first, second = (member.pushes() for member in why.members)
    for feature, amount in why.pushes().items():
        assert amount == pytest.approx((first.get(feature, 0) + second.get(feature, 0)) / 2)
    text = shown(why)
    assert "LinearTree, member 1 of 2: " in text
    assert "Reranked, member 2 of 2: " in text
    assert [member["witness"] for member in why.to_dict()["members"]] == ["LinearTree", "Reranked"]
    assert "ranker" in text
    assert len(why.to_dict()["members"]) == 2
    lost = [label for label in range(50) if not model.explain(X[[1]], label).reached]
    assert "not found by any member" in shown(model.explain(X[[1]], lost[0]))
    with pytest.raises(xt.ParameterError, match="label"):
        model.explain(X[[1]], 50)


def test_what_cannot_explain_says_so(data: Any) -> None:
    X, Y = data

    class Mute(xt.LinearTree):
        explain = None

    said = "a Mute cannot explain its answers"
    model = xt.Ensemble(models=[Mute()]).fit(X, Y)
    with pytest.raises(xt.InputError, match=f"{said}, so neither can the Ensemble"):
        model.explain(X[[0]], 3)
    assert why_no_explanation(model) == said
    inside = xt.Reranked(base=xt.Ensemble(models=[small(), Mute()]), calibrate=False, candidates=5).fit(X, Y)
    assert why_no_explanation(inside) == said
    with pytest.raises(xt.InputError, match=f"{said}, so neither can the Reranked"):
        inside.explain(X[[0]], 3)
    assert why_no_explanation(small()) is None


def test_a_softmax_tree_explains_inside_others(data: Any) -> None:
    X, Y = data
    model = xt.Ensemble(models=[xt.SoftmaxTree(dim=4, epochs=1), small()]).fit(X, Y)
    assert why_no_explanation(model) is None
    label, score = next(iter(model.predict(X[[0]], 1)))[0]
    why = model.explain(X[[0]], label)
    assert (why.rank, len(why.members)) == (1, 2)
    assert why.score == pytest.approx(score, rel=1e-6)


def test_who_can_score_given_labels(data: Any) -> None:
    X, Y = data

    class Mute(xt.LinearTree):
        score = None

    models = [small(), xt.Reranked(base=Mute(), candidates=5, calibrate=False)]
    ensemble = xt.Ensemble(models=models, candidates=5).fit(X, Y)
    assert [can_score(member) for member in ensemble.members] == [True, False]
    assert not can_score(ensemble)
    with pytest.raises(xt.InputError, match="Reranked cannot score given labels, so neither can the ensemble"):
        ensemble.score(X, Y)
    with pytest.raises(xt.InputError, match="Mute cannot score given labels, so neither can Reranked"):
        ensemble.members[1].score(X, Y)
    assert can_score(xt.Ensemble(models=[small()], candidates=5).fit(X, Y))


def test_estimates_are_those_of_the_members(data: Any) -> None:
    X, Y = data
    one = small().estimate(X, Y)
    alone = one_after_another([one])
    assert type(alone) is Estimate
    assert alone.to_dict().items() <= one.to_dict().items()
    both = xt.Ensemble(models=[small(), small(n_trees=2)]).estimate(X, Y)
    assert both.classifiers == 3 * one.classifiers
    assert both.model_bytes == 3 * one.model_bytes
    assert both.matrices_bytes == one.matrices_bytes
    assert both.peak_bytes > one.peak_bytes
    ranked = xt.Reranked(base=small(), candidates=20).estimate(X, Y)
    assert ranked.classifiers == one.classifiers + 50
    assert ranked.visits == one.visits + 300 * 20
    assert one.model_bytes < ranked.model_bytes
    assert one.peak_bytes < ranked.peak_bytes
    assert (ranked.rows, ranked.features, ranked.labels) == (300, 40, 50)
    softmax = xt.SoftmaxTree().estimate(X, Y)
    mixed = xt.Ensemble(models=[small(), xt.SoftmaxTree()]).estimate(X, Y)
    assert mixed.model_bytes == one.model_bytes + softmax.model_bytes
    assert mixed.training_bytes == max(one.training_bytes, one.model_bytes + softmax.training_bytes)
    assert xt.Reranked(base=xt.SoftmaxTree()).estimate(X, Y).model_bytes > softmax.model_bytes
    with_names = xt.Reranked(base=small()).estimate(X, Y, label_features=sp.eye_array(50, format="csr"))
    assert with_names.matrices_bytes > ranked.matrices_bytes


def test_estimates_of_models_that_are_trained_in_turn() -> None:
    """While one is trained, those before it are there; the data is there once."""
    common = {"rows": 10, "features": 20, "labels": 30, "matrices_bytes": 1000}
    first = Estimate(**common, training_bytes=500, model_bytes=100, classifiers=3, visits=7)
    second = Estimate(**common, training_bytes=450, model_bytes=200, classifiers=4, visits=1)
    assert one_after_another([first, second]) == Estimate(
        **common, training_bytes=550, model_bytes=300, classifiers=7, visits=8
    )
    assert one_after_another([second, first]).training_bytes == 700
    assert one_after_another([second, first]).peak_bytes == 1700


def test_texts_and_label_features_go_where_they_are_of_use(data: Any) -> None:
    X, Y = data
    told: list[tuple[str, bool]] = []

    class Reader(xt.LinearTree):
        reads_texts = True

        def _train(self, data: Any, checkpoint: Any) -> None:
            told.append(("train", len(data.texts) == data.n_rows))
            super()._train(data, checkpoint)

        def predict(self, X: Any, k: int = 10, *, texts: Any = None) -> Any:  # type: ignore[override]
            told.append(("predict", len(texts) == X.shape[0]))
            return super().predict(X, k)

        def score(self, X: Any, labels: Any, *, texts: Any = None) -> Any:
            told.append(("score", len(texts) == X.shape[0]))
            return super().score(X, labels)

    texts = ["some words"] * 300
    ensemble = xt.Ensemble(models=[Reader(), small()], candidates=3)
    assert ensemble.reads_texts
    assert ensemble.uses_label_features
    ensemble.fit(X, Y, texts=texts, label_features=sp.eye_array(50, format="csr"))
    ensemble.predict(X[:20], texts=texts[:20])
    assert {what for what, _ in told} == {"train", "predict", "score"}
    assert all(right for _, right in told)
    with pytest.raises(xt.InputError, match="reads texts; pass texts"):
        ensemble.fit(X, Y)
    assert not xt.Ensemble(models=[xt.Elias()]).uses_label_features
    assert not xt.Reranked(base=xt.Elias()).uses_label_features
    with pytest.raises(xt.InputError, match="label_features: Ensemble has no use for them"):
        xt.Ensemble(models=[xt.Elias()]).fit(X, Y, label_features=np.eye(50))
    with pytest.raises(xt.InputError, match="label_features: Reranked has no use for them"):
        xt.Reranked(base=xt.Elias()).fit(X, Y, label_features=np.eye(50))
    assert not xt.Reranked().reads_texts
    placed = xt.Reranked(base=small(), calibrate=False)
    with_names = placed.fit(X, Y, label_features=sp.csr_array(np.repeat(np.eye(5), 10, axis=0) * 100)).fitted_base
    assert not np.array_equal(with_names.tree.children, small().fit(X, Y).tree.children)  # type: ignore[attr-defined]
    with pytest.raises(xt.InputError, match="fitted_base"):
        xt.Reranked().fit(X, Y, fitted_base=with_names, checkpoint="nowhere")
