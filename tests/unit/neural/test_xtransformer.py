"""XTransformer: clusters that the encoder learns, the tree on features and vectors, going on after a stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import norm

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.linear import fit as fitting
from xtrellis.neural.encoders.clusters import balanced_clusters, clusters_of_rows, n_clusters
from xtrellis.neural.ova import task as ova_task
from xtrellis.neural.xtransformer import MatcherTask

N, D, L = 200, 40, 50
SMALL = {"n_clusters": 8, "epochs": 3, "batch_size": 50}


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    Y = (rng.random((N, L)) < 3 / L).astype(np.float32)
    X = (Y @ rng.random((L, D))) * (rng.random((N, D)) < 0.5)
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def small(**params: Any) -> xt.XTransformer:
    tree = xt.LinearTree(index=xt.BalancedTree(max_leaf=8))
    return xt.XTransformer(**{"encoder": xt.BagEncoder(dim=16), "tree": tree, **SMALL, **params})


def test_rows_have_the_clusters_of_their_labels() -> None:
    rows = xt.TrainingData.of(*data())
    Y = rows.Y
    graph = balanced_clusters(xt.BagEncoder(), rows, 8, seed=0, threads=1, device="cpu")
    assert graph.n_clusters == 8
    sizes = (graph.ids >= 0).sum(axis=1)
    assert sizes.sum() == L
    assert sizes.max() - sizes.min() <= 1
    found = clusters_of_rows(Y, graph).toarray()
    expected = np.stack([Y.toarray()[:, ids[ids >= 0]].max(axis=1) for ids in graph.ids], axis=1)
    np.testing.assert_array_equal(found, expected)
    assert (n_clusters(None, 20_000), n_clusters(None, 5), n_clusters(64, 50)) == (256, 5, 50)


def test_the_squared_hinge_has_its_gradient() -> None:
    rng = np.random.default_rng(1)
    scores = torch.from_numpy(rng.standard_normal((6, 5))).requires_grad_()
    wanted = torch.from_numpy((rng.random((6, 5)) < 0.4).astype(np.float64))
    plain = torch.relu(1 - (2 * wanted - 1) * scores).square().sum()
    (expected,) = torch.autograd.grad(plain, [scores])
    total, g = ova_task.LOSSES["squared-hinge"](torch, scores.detach().clone(), *wanted.nonzero(as_tuple=True))
    torch.testing.assert_close(total, plain.detach())
    torch.testing.assert_close(g, expected)


def test_the_tree_reads_features_and_vectors(tmp_path: Path) -> None:
    X, Y = data()
    model = small(vector_weight=1.0).fit(X, Y)
    vectors = model.embed(X)
    assert vectors.shape == (N, 16)
    joined = xt.concatenate_features(X, vectors[:, :-1])
    by_hand = model.tree.clone().set_params(seed=model.seed, normalize_rows=False).fit(joined, Y)
    expected, found = by_hand.predict(joined, k=5), model.predict(X, k=5)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_allclose(model.score(X, Y).data, by_hand.score(joined, Y).data)
    half = small(vector_weight=0.5, epochs=1).fit(X, Y).features(X)
    there = np.diff(X.indptr) > 0
    np.testing.assert_allclose(norm(half[:, :D], axis=1)[there], 1, atol=1e-6)
    np.testing.assert_allclose(norm(half[:, D:], axis=1)[there], 0.5, atol=1e-6)
    assert model.curves[0].keys() >= {"epoch", "loss", "train_p1"}
    assert model.curves[-1]["loss"] < model.curves[0]["loss"]
    assert model.estimate(X, Y).features == D + 15
    assert not model.tree.fitted
    with pytest.raises(xt.InputError, match="40"):
        model.predict(X[:, :-1])
    # a model whose parts do not fit together is refused
    state = model.to_state()
    state.parts["tree"] = model.tree.clone().fit(joined[:, :20], Y)
    with pytest.raises(xt.StoreError, match="20 features"):
        xt.XTransformer.from_state(model.get_params(deep=False), state)


def test_overlap_on_top_and_several_together(tmp_path: Path) -> None:
    X, Y = data()
    tree = xt.LinearTree(index=xt.BalancedTree(arity=2, max_leaf=8), overlap=xt.Overlap(copies=2))
    model = small(tree=tree).fit(X, Y)
    assert len(model.fitted_tree.tree.label_slots[1]) > L
    assert model.fitted_tree.overlap_rounds[0]
    together = xt.Ensemble(models=[small(), small(encoder=xt.BagEncoder(dim=8))]).fit(X, Y)
    assert xt.evaluate(Y, together.predict(X, k=3), metrics=["P@1"])["P@1"] > 50
    first, second = (member.fitted_tree.tree for member in together.members)
    assert not np.array_equal(first.children, second.children)  # clusterings of their own


@pytest.mark.parametrize("where", ["encoder", "tree"])
def test_a_stopped_training_goes_on(tmp_path: Path, where: str) -> None:
    X, Y = data()
    whole, model = small().fit(X, Y), small()
    epochs: list[int] = []
    epoch = MatcherTask.epoch

    def counted(self: MatcherTask, number: int) -> Any:
        if where == "encoder" and number == 2 and 2 not in epochs:
            epochs.append(number)
            raise KeyboardInterrupt
        epochs.append(number)
        return epoch(self, number)

    def stop(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MatcherTask, "epoch", counted)
        with pytest.MonkeyPatch.context() as inner:
            if where == "tree":
                inner.setattr(fitting.PackedTree, "join", stop)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, Y, checkpoint=tmp_path / "c")
        assert not model.fitted
        with pytest.raises(xt.StoreError, match="another training"):
            small(dropout=0.1).fit(X, Y, checkpoint=tmp_path / "c")
        model.fit(X, Y, checkpoint=tmp_path / "c")
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(fitting.PackedTree, "join", stop)
            again = small().fit(X, Y, checkpoint=tmp_path / "c")  # nothing is left to do
    assert epochs == ([0, 1, 2, 2] if where == "encoder" else [0, 1, 2])
    model.save(tmp_path / "m")
    assert not (tmp_path / "c").exists()
    for other in (model, again, xt.load(tmp_path / "m")):
        np.testing.assert_array_equal(other.predict(X).scores, whole.predict(X).scores)


def test_memory_is_told_and_limited() -> None:
    X, Y = data()
    told: list[str] = []

    class Listener:
        begin = advance = end = staticmethod(lambda *args: 0)
        note = staticmethod(told.append)

    with (
        progress.listen(Listener()),
        pytest.raises(xt.ParameterError, match=r"memory_limit is 20kB.*dim of the encoder"),
    ):
        small(memory_limit="20kB").fit(X, Y)
    assert any("the encoder takes about" in line for line in told)
    few, many = (small(encoder=xt.BagEncoder(dim=dim)).estimate(X, Y) for dim in (16, 1024))
    assert many.peak_bytes > 10 * few.peak_bytes > 0
    assert many.model_bytes > 10 * few.model_bytes > 0
