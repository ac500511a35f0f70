"""Elias: what the paper promises of its parts, and what a model must keep."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import xtrellis as xt
from xtrellis.arrays.inputs import as_features, as_labels
from xtrellis.core import progress
from xtrellis.core.errors import TrainingError
from xtrellis.labels.space import LabelSpace
from xtrellis.neural.elias import model as elias_module
from xtrellis.neural.elias.graph import connect, counted_values
from xtrellis.neural.elias.model import Elias
from xtrellis.neural.elias.network import EliasNetwork
from xtrellis.neural.elias.task import EliasTask
from xtrellis.neural.encoders.bag import BagEncoder
from xtrellis.neural.encoders.clusters import ClusterGraph, homes, partition
from xtrellis.neural.encoders.inputs import inputs_of, validation_split

N, D, L = 200, 60, 40
SMALL = {
    "encoder": BagEncoder(dim=16),
    "n_clusters": 8,
    "beam": 3,
    "shortlist_size": 12,
    "epochs": 4,
    "batch_size": 32,
    "holdout": 0.3,
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Y = (rng.random((N, L)) < 3 / L).astype(np.float32)
    Y[:, 7] = 0
    X = (Y @ rng.random((L, D))) * (rng.random((N, D)) < 0.5)
    return as_features(sp.csr_array(X.astype(np.float32))), as_labels(sp.csr_array(Y))


def task_of(model, data):
    data = xt.TrainingData.of(*data)
    how, graph = model._settings(data), model._clusters(data)
    train, validation = validation_split(data.Y, model.holdout, model.seed)
    inputs = inputs_of(model.encoder, data)
    return EliasTask(inputs, data.Y, train, validation, graph, model.encoder, how, torch, torch.device("cpu"))


def same(a, b):
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.scores, b.scores)


def random_network(seed=0, clusters=6, width=10, labels=30, dim=8):
    rng = np.random.default_rng(seed)
    ids = np.stack([rng.permutation(labels)[:width] for _ in range(clusters)]).astype(np.int32)
    return EliasNetwork(
        rng.standard_normal((clusters, dim)).astype(np.float32), ids, -rng.random(ids.shape).astype(np.float32),
        rng.standard_normal((labels, dim)).astype(np.float32), 4.0,
    )  # fmt: skip


def brute_force(network, vectors):
    """p of all labels, straight from the definitions; 0 for those without an edge."""
    logits = vectors.astype(float) @ network.clusters.T
    softmax = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    s = np.minimum(1, network.scale * softmax)
    A = np.zeros((len(network.clusters), network.n_labels))
    rows = np.repeat(np.arange(len(A)), network.edge_ids.shape[1])
    A[rows, network.edge_ids.ravel()] = np.exp(network.edge_logs.ravel())
    y = (s[:, :, None] * A[None]).max(axis=1)
    return y / (1 + np.exp(-vectors @ network.labels.T))


def test_with_everything_looked_at_it_is_brute_force():
    network = random_network()
    vectors = np.random.default_rng(1).standard_normal((20, 8)).astype(np.float32)
    labels, scores = network.predict(vectors, 30, beam=6, shortlist_size=30)
    p = brute_force(network, vectors)
    for row in range(20):
        reached = labels[row] >= 0
        assert reached.sum() == (p[row] > 0).sum()
        np.testing.assert_allclose(scores[row][reached], p[row][labels[row][reached]], rtol=1e-4)
        np.testing.assert_allclose(scores[row], np.sort(p[row])[::-1], rtol=1e-4, atol=1e-9)


def test_a_narrow_beam_finds_no_better_labels():
    network = random_network(2)
    vectors = np.random.default_rng(3).standard_normal((20, 8)).astype(np.float32)
    wide, narrow = (network.predict(vectors, 5, beam=b, shortlist_size=s)[1] for b, s in ((6, 30), (2, 6)))
    assert (narrow <= wide).all()
    assert (narrow < wide).any()


def test_stage_one_with_a_cluster_for_each_label_is_the_partition_model(data):
    X, _ = data
    model = Elias(stages=1, **SMALL | {"n_clusters": L, "beam": L, "shortlist_size": L}).fit(*data)
    network = model.network
    np.testing.assert_array_equal(np.sort(network.edge_ids.ravel()), np.arange(L))
    assert (network.edge_logs == 0).all()
    vectors = model.embed(X)
    logits = vectors.astype(float) @ network.clusters[np.argsort(network.edge_ids[:, 0])].T
    s = np.minimum(1, 10 * np.exp(logits) / np.exp(logits).sum(1, keepdims=True))
    p = s / (1 + np.exp(-vectors @ network.labels.T))
    top = model.predict(X, k=L)
    np.testing.assert_allclose(top.scores, -np.sort(-p, axis=1), rtol=1e-3, atol=1e-7)


def test_teacher_forcing_reaches_every_label_of_a_row(data):
    _, Y = data
    model = Elias(**SMALL)
    task = task_of(model, data)
    for epoch in range(4):  # both stages
        for _ in task.epoch(epoch):
            pass
        rows = task.rows[:50]
        own = Y[rows]
        clusters = task._clusters(np.zeros((50, len(task.ids)), np.float32), own.indptr, own.indices)
        for row, there in zip(range(50), clusters, strict=True):
            wanted = own.indices[own.indptr[row] : own.indptr[row + 1]]
            assert set(wanted.tolist()) <= set(task.ids[there[there >= 0]].ravel().tolist())
    assert task.stage[0] == 2


def test_edges_stay_row_sparse_and_each_label_with_rows_has_one(data):
    _, Y = data
    model = Elias(**SMALL | {"edges_per_cluster": 9}).fit(*data)
    ids = model.network.edge_ids
    assert ids.shape[1] <= 9
    for row in ids:
        there = row[row >= 0]
        assert len(set(there.tolist())) == len(there)
    assert set(Y.indices.tolist()) <= set(ids.ravel().tolist())
    assert (np.diff(model.network.edge_logs, axis=1) <= 0).all()
    # scores of a cluster's edges are β softmax, clamped
    total = np.exp(model.network.edge_logs).sum(1)
    assert (total <= L / 8 + 1e-3).all()


def test_connecting_keeps_the_strongest_and_forgets_nobody():
    Y = as_labels(sp.csr_array(np.eye(6, dtype=np.float32)[[0, 0, 0, 1, 1, 2, 3, 4, 5]]))
    best = np.zeros((9, 1), np.int32)
    best[5:, 0] = 1
    graph, counts = connect(best, np.ones((9, 1), np.float32), Y, 2, 3)
    assert counts[0].tolist()[:2] == [3, 2]
    assert graph.ids[0].tolist()[:2] == [0, 1]
    assert set(graph.ids.ravel().tolist()) - {-1} == set(range(6))
    flat = graph.ids.ravel().tolist()
    assert all(counts.ravel()[flat.index(label)] == 1 for label in (2, 3, 4, 5))  # one of them took a spare place
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    home = homes(graph, values)
    assert all(label in graph.ids[home[label]] for label in range(6))
    twice = ClusterGraph(np.array([[0, 1], [1, 0], [0, 1]], np.int32), 2)
    assert homes(twice, np.zeros((3, 2), np.float32)).tolist() == [0, 0]  # of equal edges the first
    assert homes(twice, np.array([[0, 0], [0, 1], [0, 2]], np.float32)).tolist() == [1, 2]


def test_clusters_are_balanced_parts(data):
    model = Elias(**SMALL)
    X, Y = data
    graph = model.partition(X, Y)
    assert graph.ids.shape == (8, 5)
    np.testing.assert_array_equal(np.sort(graph.ids.ravel()), np.arange(L))
    again = partition(xt.BalancedTree(arity=2, max_leaf=7).build(LabelSpace(xt.TrainingData(X, Y)), seed=0), 7)
    assert sorted(again.ids[again.ids >= 0].tolist()) == list(range(L))


class StopError(Exception):
    pass


def test_stopped_and_going_on_it_ends_with_the_same_model(data, tmp_path, monkeypatch):
    X, _ = data
    whole = Elias(**SMALL).fit(*data)
    for stop in (1, 2, 3):  # in the first stage, between both, in the second
        original, seen = elias_module.EliasTask.measure, []

        def measure(self, seen=seen, stop=stop, original=original):
            seen.append(1)
            if len(seen) > stop:
                raise StopError
            return original(self)

        monkeypatch.setattr(elias_module.EliasTask, "measure", measure)
        with pytest.raises(StopError):
            Elias(**SMALL).fit(*data, checkpoint=tmp_path / "state")
        monkeypatch.undo()
        again = Elias(**SMALL).fit(*data, checkpoint=tmp_path / "state")
        same(again.predict(X), whole.predict(X))
        assert [p["loss"] for p in again.curves] == [p["loss"] for p in whole.curves]
        monkeypatch.setattr(elias_module.EliasTask, "epoch", None)  # nothing is left to do
        same(Elias(**SMALL).fit(*data, checkpoint=tmp_path / "state").predict(X), whole.predict(X))
        monkeypatch.undo()
        again.save(tmp_path / "model")
        assert not (tmp_path / "state").exists()


def test_threads_change_nothing_and_seeds_do(data):
    X, _ = data
    one, two = (Elias(**SMALL, threads=threads).fit(*data).predict(X) for threads in (1, 2))
    same(one, two)
    other = Elias(**SMALL, seed=1).fit(*data).predict(X)
    assert (other.scores != one.scores).any()


def test_saved_and_loaded(data, tmp_path):
    X, _ = data
    model = Elias(**SMALL).fit(*data)
    model.save(tmp_path / "m")
    again = xt.load(tmp_path / "m")
    same(again.predict(X), model.predict(X))
    assert again.curves == [{k: v for k, v in point.items() if k != "seconds"} for point in model.curves]
    assert {"stage", "loss", "validation_p1", "validation_r100"} <= set(again.curves[-1])
    assert [point["stage"] for point in again.curves] == [1, 1, 2, 2]


def test_a_damaged_model_is_refused(data):
    model = Elias(**SMALL).fit(*data)
    params = {"encoder": BagEncoder(dim=16)}
    for name, spoil in {
        "edge_ids": lambda a: np.where(a == a.max(), L, a).astype(np.int32),
        "edge_logs": lambda a: np.where(a == a.max(), 1, a).astype(np.float32),
        "labels": lambda a: a[:, :-1].copy(),
        "encoder.mix": lambda a: a[:-1].copy(),
        "clusters": lambda a: a.astype(np.float64),
    }.items():
        state = model.to_state()
        state.arrays[name] = spoil(state.arrays[name])
        with pytest.raises(xt.StoreError):
            Elias.from_state(params, state)
    state = model.to_state()
    del state.arrays["clusters"]
    with pytest.raises(xt.StoreError, match="clusters"):
        Elias.from_state(params, state)


def test_memory_is_told_and_limited(data):
    model, told = Elias(**SMALL), []
    small, large = (
        model.estimate(sp.csr_array((N, d), dtype=np.float32), sp.csr_array((N, labels), dtype=np.float32))
        for d, labels in ((D, L), (10**6, 10**6))
    )
    assert large.peak_bytes > 10 * small.peak_bytes > 0
    assert (large.rows, large.features, large.labels) == (N, 10**6, 10**6)

    class Listener:
        begin = advance = end = staticmethod(lambda *args: 0)
        note = staticmethod(told.append)

    with (
        progress.listen(Listener()),
        pytest.raises(xt.ParameterError, match=r"memory_limit is 10KB.*edges_per_cluster"),
    ):
        Elias(**SMALL, memory_limit="10KB").fit(*data)
    assert told == [str(model.estimate(*data))]
    model.set_params(memory_limit=model.estimate(*data).peak_bytes).fit(*data)
    arrays = model.to_state().arrays
    assert sum(a.nbytes for a in arrays.values()) < 1.2 * model.estimate(*data).model_bytes


def test_a_loss_that_is_no_number_is_told(data, monkeypatch, tmp_path):
    model = Elias(**SMALL)
    original, steps = EliasTask._piece, []

    def piece(self, *args):
        steps.append(1)
        (losses, *rest), shared = original(self, *args)
        return [losses * np.nan if len(steps) > 8 else losses, *rest], shared

    monkeypatch.setattr(EliasTask, "_piece", piece)
    with pytest.raises(TrainingError, match="learning_rate"):
        model.fit(*data)
    # What it keeps was trained with the parameters of that fit: it can be saved.
    for dropout in (0.1, 0.3):
        steps.clear()
        with pytest.raises(TrainingError, match="keeps its state after epoch 1"):
            model.set_params(dropout=dropout).fit(*data)
        model.save(tmp_path / "m")
        again = xt.load(tmp_path / "m")
        assert (again.dropout, len(again.curves)) == (dropout, 1)
        same(again.predict(data[0]), model.predict(data[0]))
    with pytest.raises(xt.StoreError, match="dropout was set to"):
        model.set_params(dropout=0.2).save(tmp_path / "m")


def test_texts_are_asked_for_only_by_encoders_that_read_them(data):
    with pytest.raises(xt.InputError, match="at least one row with a label"):
        Elias(**SMALL).fit(data[0], np.zeros((N, L)))
    with pytest.raises(xt.InputError, match="features"):
        Elias(**SMALL).fit(*data).predict(np.zeros((1, D + 1)))


def test_edges_can_go():
    network = random_network(5)
    fewer = network.pruned(least=0.5)
    assert 0 < fewer.n_edges < network.n_edges
    assert (fewer.edge_logs[fewer.edge_ids >= 0] >= np.log(0.5)).all()
    assert fewer.n_edges == (network.edge_logs >= np.log(0.5)).sum()
    assert (network.pruned(top=3).edge_ids >= 0).sum(axis=1).tolist() == [3] * 6
    vectors = np.random.default_rng(6).standard_normal((5, 8)).astype(np.float32)
    same_network = network.pruned()
    for a, b in zip(*(n.predict(vectors, 5, beam=3, shortlist_size=8) for n in (network, same_network)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_edges_begin_with_the_rows_that_come_to_the_cluster():
    Y = as_labels(sp.csr_array(np.eye(3, dtype=np.float32)[[0, 0, 0, 0, 1, 2]]))
    best = np.array([[0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [1, 0]], np.int32)
    scores = np.array([[1, 0.25]] * 5 + [[1, 0.5]], np.float32)
    graph, counts = connect(best, scores, Y, 2, 3)
    A = np.zeros((2, 3))
    for row, label in enumerate([0, 0, 0, 0, 1, 2]):
        A[best[row], label] += scores[row]
    for cluster in range(2):
        np.testing.assert_allclose(counts[cluster], A[cluster, graph.ids[cluster]])
        shares = np.exp(counted_values(graph, counts, np.array([4.0, 1, 1]))[cluster])
        wanted = A[cluster, graph.ids[cluster]] / np.array([4, 1, 1])[graph.ids[cluster]]
        np.testing.assert_allclose(shares / shares.max(), wanted / wanted.max(), rtol=1e-5)
    # Places without a label or a row that comes there are finite: they must be learnable.
    hollow = ClusterGraph(np.array([[0, -1], [-1, -1]], np.int32), 3)
    values = counted_values(hollow, np.array([[2, 0], [0, 0]], np.float32), np.array([4.0, 1, 1]))
    assert np.isfinite(values).all()


def test_edges_have_a_rate_of_their_own(data):
    def moved(**params):
        task = task_of(Elias(**SMALL | {"edge_start": "counts", "holdout": 0.0}, **params), data)
        task._second_stage()
        before = task.dense.values["edges"].copy()
        clusters = task.dense.values["clusters"].copy()
        next(task.epoch(2))
        return np.abs(task.dense.values["edges"] - before).max(), np.abs(task.dense.values["clusters"] - clusters).max()

    slow, fast = moved(), moved(edge_learning_rate=0.2)
    assert fast[0] == pytest.approx(10 * slow[0], rel=0.01)
    assert fast[1] == slow[1]


def test_out_of_fold_clusters_come_from_trainings_without_the_row(data, monkeypatch):
    task = task_of(Elias(**SMALL, folds=2), data)
    asked = []
    real = EliasTask._best_clusters

    def spy(self, rows):
        asked.append((set(self.rows.tolist()), set(rows.tolist())))
        return real(self, rows)

    monkeypatch.setattr(EliasTask, "_best_clusters", spy)
    for epoch in range(3):
        for _ in task.epoch(epoch):
            pass
    assert len(asked) == 2
    assert all(not trained & rows for trained, rows in asked)
    assert set().union(*(rows for _, rows in asked)) == set(task.rows.tolist())
    one, two = (Elias(**SMALL, folds=2, threads=t).fit(*data) for t in (1, 2))
    same(one.predict(data[0]), two.predict(data[0]))


def test_a_rare_label_stays_where_similar_ones_are():
    Y = as_labels(sp.csr_array(np.eye(3, dtype=np.float32)[[0, 1, 1, 1, 1]]))  # label 2 has no rows
    best = np.ones((5, 1), np.int32)  # all come to cluster 1
    first = ClusterGraph(np.array([[0, 1, 2], [-1, -1, -1]], np.int32), 3)
    ones = np.ones((5, 1), np.float32)
    graph, counts = connect(best, ones, Y, 2, 3, first=first, first_rows=2.0)
    edges = {(c, int(label)): float(n) for c in range(2) for label, n in zip(graph.ids[c], counts[c], strict=True)}
    assert {edge: n for edge, n in edges.items() if edge[1] >= 0} == {(0, 0): 2, (0, 1): 2, (1, 0): 1, (1, 1): 4}
    home = homes(graph, counts)
    assert home.tolist() == [0, 1, -1]
    plain, _ = connect(best, ones, Y, 2, 3)
    assert (plain.ids[0] == -1).all()


def test_of_edges_with_full_score_the_strongest_is_home(data):
    task = task_of(Elias(**SMALL | {"holdout": 0.0, "edge_scale": 40.0}), data)
    task._second_stage()
    here = task.ids >= 0
    # Two places that lead to a label, both with full score, but one is surer than the other.
    label = next(x for x in range(L) if (task.ids == x).any(axis=1).sum() > 1)
    clusters = np.flatnonzero((task.ids == label).any(axis=1))[:2]
    values = task.dense.values["edges"]
    for surer in (0, 1):
        values[here] = 0.0
        values[task.ids == label] = -20.0
        for i, cluster in enumerate(clusters):
            values[cluster, task.ids[cluster] == label] = 8.0 if i == surer else 2.0
        logs = task._edge_logs_now()
        assert all(logs[cluster, task.ids[cluster] == label] == 0 for cluster in clusters)  # a tie
        next(task.epoch(2))
        assert task.home[label] == clusters[surer]
