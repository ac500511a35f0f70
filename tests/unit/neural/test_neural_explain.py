"""Explanations of models with an encoder: parts add up to the model's own products, ranks are those of predictions."""

from __future__ import annotations

import copy
import io
import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from rich.console import Console

import xtrellis as xt
from xtrellis.arrays import as_features, as_row
from xtrellis.neural.elias.model import Elias
from xtrellis.neural.elias.network import EliasNetwork
from xtrellis.neural.encoders.bag import BagEncoder
from xtrellis.neural.encoders.base import Inputs
from xtrellis.neural.ova.model import EncoderOvA

L = 60
HOW = {"encoder": BagEncoder(dim=16), "epochs": 3, "batch_size": 32, "holdout": 0.0, "threads": 1}


@pytest.fixture(scope="module")
def data() -> Any:
    return xt.synthetic(n_rows=300, n_labels=L, n_features=200, seed=0)


@pytest.fixture(scope="module")
def elias(data: Any) -> Elias:
    model = Elias(n_clusters=8, beam=3, shortlist_size=15, edges_per_cluster=20, **HOW)
    return model.fit(data.X, data.Y)


@pytest.fixture(scope="module")
def xtransformer(data: Any) -> xt.XTransformer:
    tree = xt.LinearTree(index=xt.BalancedTree(arity=4, max_leaf=8), beam=2)
    return xt.XTransformer(tree=tree, n_clusters=8, **HOW).fit(data.X, data.Y)


def shown(why: Any, **options: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140, highlight=False).print(why.render(**options))
    return stream.getvalue()


def adds_up(part: Any) -> float:
    """The margin of a step or an opinion, after looking at its parts."""
    for push in part.pushes:
        assert push.contribution == pytest.approx(push.value * push.weight)
    sizes = [abs(push.contribution) for push in part.pushes]
    assert sizes == sorted(sizes, reverse=True)
    assert part.margin == pytest.approx(
        part.bias + (part.vector or 0) + sum(p.contribution for p in part.pushes), abs=1e-4
    )
    return float(part.margin)


def brute_force(network: EliasNetwork, phi: Any, beam: int, shortlist: int, by: str) -> tuple[Any, Any, Any, Any]:
    """log s of clusters, log s·e of all pairs (-inf where no edge is), p of all labels (0 where none asks), and by what
    labels come into the shortlist."""
    logits = network.clusters.astype(np.float64) @ phi
    shares = np.exp(logits) / np.exp(logits).sum()
    logs = np.minimum(0, np.log(network.scale) + np.log(shares))
    pairs = np.full((len(logits), network.n_labels), -np.inf)
    for cluster, label in zip(*np.nonzero(network.edge_ids >= 0), strict=True):
        pairs[cluster, network.edge_ids[cluster, label]] = logs[cluster] + network.edge_logs[cluster, label]
    looked = np.argsort(-logits)[:beam]
    best = pairs[looked].max(axis=0)
    p = np.exp(best) / (1 + np.exp(-(network.labels.astype(np.float64) @ phi)))
    worth = best
    if by == "sum":
        worth = (shares[looked] @ np.exp(pairs - logs[:, None])[looked]).astype(np.float32)
        worth[best == -np.inf] = -np.inf
    p[np.argsort(-worth, kind="stable")[shortlist:]] = 0
    return logs, pairs, p, worth


def test_contributions_are_the_derivative_of_the_encoder(data: Any, elias: Elias) -> None:
    """By finite differences, feature by feature."""
    encoder, weights = elias.encoder, elias._weights
    rng = np.random.default_rng(0)
    W, row = rng.normal(size=(3, 16)), as_row(data.X[[0]], n_features=200)
    constants, contributions = encoder.contributions(weights, Inputs(X=row), W)  # type: ignore[misc]
    phi = encoder.encode(weights, Inputs(X=row), threads=1, device="cpu")[0]
    np.testing.assert_allclose(constants + contributions.sum(axis=0), W @ phi, atol=1e-5)
    E, R, c = (weights[name].astype(np.float64) for name in ("features", "mix", "bias"))

    def network(x: Any) -> Any:
        h = x @ E[row.indices]
        out = h + np.maximum(R @ h + c, 0)
        return W[:, :-1] @ out[:-1] + W[:, -1]

    x = row.data.astype(np.float64) / np.linalg.norm(row.data)
    for i in range(len(x)):
        change = np.zeros(len(x))
        change[i] = 1e-6
        slope = (network(x + change) - network(x - change)) / 2e-6
        np.testing.assert_allclose(contributions[i], x[i] * slope, rtol=1e-5, atol=1e-7)


def test_a_row_without_features_has_only_constants(data: Any, elias: Elias) -> None:
    row = sp.csr_array((1, 200), dtype=np.float32)
    label = int(elias.predict(row, k=1).labels[0, 0])
    why = elias.explain(row, label)
    assert why.rank == 1
    for step in why.paths[0].steps:
        assert step.pushes == ()
        assert adds_up(step) == step.bias
    assert "bias" in shown(why, compact=True)


def test_elias_scores_and_ranks_are_those_of_predict(data: Any, elias: Elias) -> None:
    for i in range(4):
        top = elias.predict(data.X[[i]], k=L)
        for place, (label, score) in enumerate(next(iter(top))):
            why = elias.explain(data.X[[i]], label)
            assert (why.rank, why.n_found) == (place + 1, 15)
            assert why.score == pytest.approx(score, rel=1e-6)
            assert why.reached
            assert why.paths[0].score == pytest.approx(score, rel=1e-4)
            assert why.paths[0].steps[1].rank == place + 1
        for label in set(range(L)) - set(top.labels[0].tolist()):
            why = elias.explain(data.X[[i]], label)
            assert (why.reached, why.rank, why.score) == (False, None, 0.0)


@pytest.mark.parametrize("by", ["sum", "best"])
def test_elias_paths_are_those_of_brute_force(data: Any, elias: Elias, by: str) -> None:
    elias = copy.copy(elias).set_params(shortlist_by=by)
    network, beyond_beam, beyond_shortlist = elias.network, 0, 0
    for i in range(3):
        phi = elias.embed(data.X[[i]])[0].astype(np.float64)
        logs, pairs, p, worth = brute_force(network, phi, 3, 15, by)
        order = np.argsort(-logs).tolist()
        for label in range(L):
            why = elias.explain(data.X[[i]], label)
            assert why.score == pytest.approx(p[label], rel=1e-4, abs=1e-9)
            leading = np.flatnonzero(np.isfinite(pairs[:, label]))
            assert len(why.paths) + why.more_paths == len(leading)
            assert len(why.paths) == min(5, len(leading))
            alone = 1 / (1 + np.exp(-network.labels[label].astype(np.float64) @ phi))
            best = int(leading[np.argmax(pairs[leading, label])])
            assert best in [path.steps[0].node for path in why.paths]
            assert why.open_score == pytest.approx(np.exp(pairs[best, label]) * alone, rel=1e-4)
            looked = [c for c in order[:3] if np.isfinite(pairs[c, label])]
            if why.reached:
                used = max(looked, key=lambda c: pairs[c, label])
                assert why.deciding == why.paths[:1]
                assert why.paths[0].steps[0].node == used
            for path in why.paths:
                cluster, last = path.steps
                assert isinstance(cluster.node, int)
                assert adds_up(cluster) == pytest.approx(network.clusters[cluster.node] @ phi, abs=1e-4)
                assert adds_up(last) == pytest.approx(network.labels[label] @ phi, abs=1e-4)
                assert cluster.log_score == pytest.approx(logs[cluster.node], abs=1e-4)
                assert (cluster.rank, cluster.rivals) == (order.index(cluster.node) + 1, 8)
                assert cluster.kept == (cluster.node in order[:3])
                assert cluster.n_labels == np.isfinite(pairs[cluster.node]).sum()
                strongest = sorted(range(L), key=lambda l: -pairs[cluster.node, l])[:5]  # noqa: E741
                assert pairs[cluster.node, list(cluster.labels)] == pytest.approx(pairs[cluster.node, strongest])
                assert cluster.edge_score is None
                assert last.edge_log_score == pytest.approx(pairs[cluster.node, label] - logs[cluster.node], abs=1e-4)
                assert path.score == pytest.approx(np.exp(pairs[cluster.node, label]) * alone, rel=1e-4)
                assert path.score == pytest.approx(cluster.score * last.edge_score * last.score)  # type: ignore[operator]
                assert last.kept == (cluster.kept and p[label] > 0)
            first = why.paths[0]
            if first.lost_at == 0:
                beyond_beam += 1
                assert f"its cluster came in as number {first.steps[0].rank} of 8, the beam keeps 3" in shown(why)
                assert "beyond the beam" in shown(why)
                assert first.steps[1].rank is None
            elif first.lost_at == 1:
                beyond_shortlist += 1
                led_to = np.flatnonzero(np.isfinite(pairs[order[:3]].max(axis=0)))
                place = 1 + int((worth > worth[label]).sum())
                assert (first.steps[1].rank, first.steps[1].rivals) == (place, len(led_to))
                assert f"it came in as number {place} of {len(led_to)}, the shortlist keeps 15" in shown(why)
                assert "beyond the shortlist" in shown(why)
    assert min(beyond_beam, beyond_shortlist) > 3, (beyond_beam, beyond_shortlist)


def test_no_more_than_a_handful_of_clusters_is_told(data: Any) -> None:
    model = Elias(n_clusters=8, beam=8, edges_per_cluster=L, shortlist_size=L, stages=1, **HOW).fit(data.X, data.Y)
    network, rng = model.network, np.random.default_rng(0)
    ids = np.stack([rng.permutation(L) for _ in range(8)]).astype(np.int32)
    logs = np.log(rng.uniform(0.01, 1, ids.shape)).astype(np.float32)
    model._network = EliasNetwork(network.clusters, ids, logs, network.labels, network.scale)
    why = model.explain(data.X[[0]], 7)
    assert (len(why.paths), why.more_paths) == (5, 3)
    assert "cluster 1 of 8" in shown(why)
    assert shown(why).count("bias") == 6  # of five clusters, and once of the label
    assert "(3 more clusters that lead to it)" in shown(why)
    assert "(7 more clusters that lead to it)" in shown(why, compact=True)
    assert why.score == pytest.approx(why.open_score, rel=1e-4)
    # One cluster far off, with the only edge that is worth anything: not reached, but told.
    model.beam = 7
    worst = int(model.network.best_clusters(model.embed(data.X[[0]]), 8)[0][0, -1])
    logs[ids == 7] = -60
    logs[worst][ids[worst] == 7] = 0
    why = model.explain(data.X[[0]], 7)
    assert [path.reached for path in why.paths] == [True] * 4 + [False]
    assert why.paths[4].steps[0].node == worst
    assert why.open_score == why.paths[4].score > why.score


def test_a_label_without_edges_is_never_found(data: Any, elias: Elias) -> None:
    network = elias.network
    ids = np.where(network.edge_ids == 7, np.int32(-1), network.edge_ids)
    model = Elias(n_clusters=8, **HOW)
    model._weights = elias._weights
    model._network = EliasNetwork(network.clusters, ids, network.edge_logs, network.labels, network.scale)
    why = model.explain(data.X[[0]], 7)
    assert (why.paths, why.open_score, why.reached, why.rank, why.pushes()) == ((), 0.0, False, None, {})
    assert "label 7  not found: no cluster leads to it" in shown(why, compact=True)
    assert "not found by any member" in shown(xt.Ensemble.of([model]).explain(data.X[[0]], 7))


def test_all_of_an_elias_explanation_is_data(data: Any, elias: Elias, tmp_path: Any) -> None:
    label = int(elias.predict(data.X[[1]], k=1).labels[0, 0])
    why = elias.explain(data.X[1], label, label_counts=np.arange(L))
    plain = json.loads(json.dumps(why.to_dict()))
    assert (plain["search"], plain["shortlist"], plain["beam"]) == ("shortlist", 15, 3)
    cluster, last = plain["paths"][0]["steps"]
    assert plain["score"] == pytest.approx(cluster["score"] * last["edge_score"] * last["score"], rel=1e-4)
    assert "edge_score" not in cluster
    assert "vector" not in last
    assert "of the edge to it" in shown(why)
    elias.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").explain(data.X[1], label, label_counts=np.arange(L)) == why
    for wrong, message in (({"label": L}, "label"), ({"label_counts": [1]}, "label_counts")):
        with pytest.raises(ValueError, match=message):
            elias.explain(data.X[1], **{"label": label, **wrong})
    with pytest.raises(xt.InputError, match="x has 3 features"):
        elias.explain([1, 2, 3], label)


def test_one_versus_all_is_one_step(data: Any, tmp_path: Any) -> None:
    model = EncoderOvA(**HOW).fit(data.X, data.Y)
    phi = model.embed(data.X[[2]])[0]
    top = model.predict(data.X[[2]], k=L)
    for place, (label, score) in enumerate(next(iter(top))):
        why = model.explain(data.X[[2]], label)
        (path,) = why.paths
        (step,) = path.steps
        assert adds_up(step) == pytest.approx(model.label_weights[label] @ phi, abs=1e-4)
        assert {push.feature for push in step.pushes} == set(sp.csr_array(data.X[[2]]).indices.tolist())
        assert (why.rank, why.n_found, step.rank, step.rivals) == (place + 1, L, place + 1, L)
        assert why.score == pytest.approx(score, rel=1e-6)
        assert path.score == pytest.approx(score, rel=1e-4)
    assert f"number {L} of {L} labels found" in shown(why)
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").explain(data.X[[2]], label) == why


def test_a_tree_on_vectors_is_told_in_features(data: Any, xtransformer: xt.XTransformer, tmp_path: Any) -> None:
    model, X = xtransformer, data.X
    joined = model.features(X[[3]])
    top = model.predict(X[[3]], k=L)
    for label in range(0, L, 3):
        why, below = model.explain(X[[3]], label), model.fitted_tree.explain(joined, label)
        assert (why.score, why.rank, why.n_found) == (below.score, below.rank, below.n_found)
        if why.rank is not None:
            assert top.labels[0, why.rank - 1] == label
        moved = 0.0
        for path, old_path in zip(why.paths, below.paths, strict=True):
            for step, old in zip(path.steps, old_path.steps, strict=True):
                assert (step.margin, step.score, step.rank, step.kept) == (old.margin, old.score, old.rank, old.kept)
                adds_up(step)
                assert step.vector is None
                assert {push.feature for push in step.pushes} <= set(sp.csr_array(X[[3]]).indices.tolist())
                moved += sum(abs(push.contribution) for push in old.pushes if push.feature >= 200)
                # One by one: the tree's weights of words, and those of the vector's entries through the encoder.
                mine = {push.feature: push.contribution for push in step.pushes}
                own = {push.feature: push.contribution for push in old.pushes if push.feature < 200}
                W, phi = np.zeros((1, 16)), model.embed(X[[3]])[0]
                scale = model.encoder.usual_weight / np.linalg.norm(phi[:-1])
                for push in old.pushes:
                    if push.feature >= 200:
                        W[0, push.feature - 200] = push.weight * scale
                row = as_features(X[[3]])
                _, through = model.encoder.contributions(model._weights, Inputs(X=row), W)  # type: ignore[misc]
                for feature, amount in zip(row.indices.tolist(), through[:, 0], strict=True):
                    assert mine[feature] == pytest.approx(own.get(feature, 0) + amount, abs=1e-5)
        assert moved > 0
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").explain(X[[3]], label) == why


@pytest.mark.parametrize(("name", "weight"), [("elias", 0.7), ("elias", 0.0), ("xtransformer", 0.7)])
def test_a_ranker_on_vectors_is_told_in_features(
    data: Any, name: str, weight: float, tmp_path: Any, request: pytest.FixtureRequest
) -> None:
    X, Y, base = data.X, data.Y, request.getfixturevalue(name)
    model = xt.Reranked(candidates=10, calibrate=False, vector_weight=weight, threads=1).fit(X, Y, fitted_base=base)
    top = model.predict(X[[4]], k=10)
    seen = xt.concatenate_features(X[[4]], base.embed(X[[4]]), weights=(1, weight)) if weight else X[[4]]
    weights = np.zeros((model.classifiers.n_labels, model.classifiers.n_features))
    offsets = model.classifiers.offsets
    for label in range(L):
        span = slice(offsets[label], offsets[label + 1])
        weights[label, model.classifiers.features[span]] = model.classifiers.weights[span]
    for place, (label, score) in enumerate(next(iter(top))):
        why = model.explain(X[[4]], label)
        assert (why.rank, why.n_found) == (place + 1, 10)
        assert why.score == pytest.approx(score, rel=1e-6)
        assert why.paths == base.explain(X[[4]], label).paths
        assert why.opinion is not None
        assert why.opinion.vector is None
        expected = sp.csr_array(seen).toarray()[0] @ weights[label] + model.classifiers.biases[label]
        assert adds_up(why.opinion) == pytest.approx(expected, abs=1e-4)
        assert {push.feature for push in why.opinion.pushes} <= set(sp.csr_array(X[[4]]).indices.tolist())
        assert "ranker" in shown(why, compact=True)
    lost = next(label for label in range(L) if label not in base.predict(X[[4]], k=L).labels)
    assert "not found" in shown(model.explain(X[[4]], lost))
    model.save(tmp_path / "m")
    assert xt.load(tmp_path / "m").explain(X[[4]], label) == why


def test_an_ensemble_of_them(data: Any, elias: Elias, xtransformer: xt.XTransformer) -> None:
    model = xt.Ensemble.of([elias, xtransformer])
    label, score = next(iter(model.predict(data.X[[5]], k=1)))[0]
    why = model.explain(data.X[[5]], label)
    assert why.rank == 1
    assert why.score == pytest.approx(score, rel=1e-6)
    assert why.members == (elias.explain(data.X[[5]], label), xtransformer.explain(data.X[[5]], label))
    assert "XTransformer, member 2 of 2" in shown(why)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_damaged_model_is_told_too(data: Any, elias: Elias, bad: float) -> None:
    network, model = elias.network, Elias(n_clusters=8, **HOW)
    model._weights, spoiled = elias._weights, np.full_like(network.clusters, bad)
    for clusters, labels in ((spoiled, network.labels), (network.clusters, np.full_like(network.labels, bad))):
        model._network = EliasNetwork(clusters, network.edge_ids, network.edge_logs, labels, network.scale)
        for label in (0, 7):
            assert shown(model.explain(data.X[[0]], label))
    full = EncoderOvA(**HOW)
    full._weights, full._labels = elias._weights, np.full_like(network.labels, bad)
    assert shown(full.explain(data.X[[0]], 0))
