"""Explanations of Glas: what features add to the cosine, exactly; scores and ranks are those of predictions."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.arrays import as_row
from xtrellis.model import Explains, why_no_explanation
from xtrellis.neural.glas.network import EmbeddingNetwork

L, D, UNSEEN = 60, 200, 7


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    """Label 7 has no row."""
    made = xt.synthetic(n_rows=300, n_labels=L, n_features=D, seed=0)
    Y = made.Y.tolil()
    Y[:, UNSEEN] = 0
    return made.X, Y.tocsr()


@pytest.fixture(scope="module", params=["relu", "relu-only", "linear"])
def model(request: pytest.FixtureRequest, data: Any) -> xt.Glas:
    made = xt.Glas(dim=24, epochs=4, batch_size=64, hidden=request.param, threads=1, seed=1).fit(*data)
    assert (made.network.M is not None) == (request.param == "relu")
    return made


def shown(why: Any, **options: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140, highlight=False).print(why.render(**options))
    return stream.getvalue()


def cosine(network: EmbeddingNetwork, x: Any, label: int) -> float:
    """Straight from the definition, in float64."""
    hidden = np.asarray(x, np.float64) @ network.W + network.b
    out = np.maximum(hidden, 0) if network.rectified else hidden
    out = out if network.M is None else hidden + network.M.astype(np.float64) @ np.maximum(hidden, 0)
    return float(out @ network.V[label]) / max(float(np.linalg.norm(out)), 1e-12)


def check(model: xt.Glas, x: Any, label: int) -> Any:
    """Score and rank are those of predict, and parts add up to the cosine."""
    top = model.predict(x, k=L)
    why = model.explain(x, label)
    assert isinstance(why.rank, int)
    assert top.labels[0, why.rank - 1] == label
    assert why.score == top.scores[0, why.rank - 1]  # the same bits
    ((step,),) = (path.steps for path in why.paths)
    added = step.bias + sum(push.contribution for push in step.pushes)
    assert step.margin == pytest.approx(added, abs=1e-12)
    assert step.margin == pytest.approx(why.score, abs=1e-5)
    assert step.margin == pytest.approx(cosine(model.network, x.toarray()[0], label), abs=1e-6)
    assert step.vector is None
    assert (why.n_found, step.rank, step.rivals, step.kept, why.reached) == (L, why.rank, L, True, True)
    assert {push.feature for push in step.pushes} == set(x.indices.tolist())
    for push in step.pushes:
        assert push.value == x.data[x.indices == push.feature]
        assert push.contribution == pytest.approx(push.value * push.weight)
    sizes = [abs(push.contribution) for push in step.pushes]
    assert sizes == sorted(sizes, reverse=True)
    if why.score > 0:
        assert why.open_score == pytest.approx(why.score, abs=1e-5)
    return why


def test_parts_are_the_cosine_and_scores_those_of_predict(data: Any, model: xt.Glas) -> None:
    X, _ = data
    assert (model.network.b != 0).any()
    signs = set()
    for i in range(4):
        for label in range(L):
            signs.add(np.sign(check(model, X[[i]], label).score))
    assert signs == {-1, 0, 1}  # 0 is the label without rows


def test_contributions_are_the_derivative(data: Any, model: xt.Glas) -> None:
    """Of the product before it is divided by the length, by finite differences, feature by feature."""
    X, _ = data
    network, row, label = model.network, as_row(X[[5]], n_features=D), 3
    bias, contributions = network.contributions(row, label)
    assert bias + contributions.sum() == pytest.approx(float(model.score(X[[5]], np.eye(L)[[label]]).data[0]), abs=1e-5)

    def before(x: Any) -> Any:
        hidden = x @ network.W[row.indices].astype(np.float64) + network.b
        if network.rectified:
            return np.maximum(hidden, 0)
        return hidden if network.M is None else hidden + network.M.astype(np.float64) @ np.maximum(hidden, 0)

    x, v = row.data.astype(np.float64), network.V[label].astype(np.float64)
    length = np.linalg.norm(before(x))
    for i in range(len(x)):
        change = np.zeros(len(x))
        change[i] = 1e-6
        slope = (before(x + change) - before(x - change)) @ v / 2e-6 / length
        assert contributions[i] == pytest.approx(x[i] * slope, rel=1e-5, abs=1e-8)


def test_a_label_that_no_row_had(data: Any, model: xt.Glas) -> None:
    X, Y = data
    assert Y[:, [UNSEEN]].nnz == 0
    why = check(model, X[[0]], UNSEEN)
    assert (why.score, why.paths[0].steps[0].margin) == (0, 0)
    assert set(why.pushes().values()) == {0.0}
    assert f"label {UNSEEN}" in shown(why)


def test_a_row_without_features_has_only_the_bias(data: Any, model: xt.Glas) -> None:
    row = sp.csr_array((1, D), dtype=np.float32)
    why = check(model, row, int(model.predict(row, k=1).labels[0, 0]))
    assert why.rank == 1
    assert why.score > 0
    assert why.paths[0].steps[0].pushes == ()


def test_with_an_index_too(data: Any) -> None:
    X, Y = data
    model = xt.Glas(dim=16, epochs=2, batch_size=64, search="ann", beam=1, threads=1).fit(X, Y)
    assert model._index is not None
    for label in (3, UNSEEN, 50):
        check(model, X[[0]], label)


def test_all_of_it_is_data_and_survives_the_store(data: Any, model: xt.Glas, tmp_path: Any) -> None:
    X, _ = data
    label = int(model.predict(X[[1]], k=1).labels[0, 0])
    why = model.explain(X[[1]], label, label_counts=np.arange(L))
    plain = json.loads(json.dumps(why.to_dict()))
    assert (plain["label"], plain["rank"], plain["score"], plain["n_found"]) == (label, 1, why.score, L)
    (step,) = plain["paths"][0]["steps"]
    assert step["margin"] == pytest.approx(why.score, abs=1e-5)
    assert f"number 1 of {L} labels found" in shown(why)
    assert "bias" in shown(why, compact=True)
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").explain(X[1].toarray().ravel(), label) == why
    assert model.explain(X[[1]], label, texts=["whatever"]) == why  # reads none


def test_what_it_cannot_explain_is_told(data: Any, model: xt.Glas) -> None:
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
        xt.Glas().explain(X[[0]], 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_damaged_model_is_told_too(data: Any, model: xt.Glas, bad: float) -> None:
    network, spoiled = model.network, xt.Glas(threads=1)
    for W, V in (
        (np.full_like(network.W, bad), network.V),
        (network.W, np.full_like(network.V, bad)),
    ):
        spoiled._network = EmbeddingNetwork(W, network.b, network.M, V)
        for label in (0, UNSEEN):
            assert shown(spoiled.explain(data[0][[0]], label))


def test_a_tagger_and_an_ensemble_explain_with_it(data: Any, model: xt.Glas) -> None:
    texts = [f"word{i % 7} also thing{i % 5}" for i in range(210)]
    glas = xt.Glas(dim=16, epochs=10, batch_size=32, threads=1)
    tagger = xt.Tagger(xt.Vectorizer(), glas).fit(texts, [[f"tag{i % 7}"] for i in range(210)])
    (tag,) = tagger.tag("word3 also thing1", k=1)
    why = tagger.explain("word3 also thing1", tag.label)
    assert (tag.label, why.score) == ("tag3", tag.score)
    assert max(why.words, key=lambda word: word.push).text == "word3"
    X, Y = data
    other = xt.SoftmaxTree(dim=8, epochs=2).fit(X, Y)
    both = xt.Ensemble.of([model, other])
    label, score = next(iter(both.predict(X[[2]], k=1)))[0]
    told = both.explain(X[[2]], label)
    assert told.score == pytest.approx(score, rel=1e-6)
    assert told.members == (model.explain(X[[2]], label), other.explain(X[[2]], label))
