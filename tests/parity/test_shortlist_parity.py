"""The kernels of shortlists beside plain NumPy and plain torch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from xtrellis._native import neural as native
from xtrellis.neural.elias.losses import plain_loss, shortlist_loss
from xtrellis.neural.elias.shortlist import best_paths, find, gather_dot
from xtrellis.neural.training.optim import AdamW, RowAdamW, by_label


def world(n=7, dim=20, labels=50, k=9, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, dim)).astype(np.float32)
    W = rng.standard_normal((labels, dim)).astype(np.float32)
    ids = np.stack([rng.permutation(labels)[:k] for _ in range(n)]).astype(np.int32)
    ids[rng.random(ids.shape) < 0.15] = -1
    return a, W, ids


def index(clusters=6, width=8, labels=30, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.stack([rng.permutation(labels)[:width] for _ in range(clusters)]).astype(np.int32)
    ids[rng.random(ids.shape) < 0.2] = -1
    return ids, -rng.random(ids.shape).astype(np.float32)


def plain_shortlist(clusters, logs, ids, edges, k, wanted):
    """label -> best path score of one row; the wanted first by number, then the others by score and number."""
    best = {}
    for c, log in zip(clusters, logs, strict=True):
        for label, edge in zip(ids[c], edges[c], strict=True) if c >= 0 else ():
            if label >= 0:
                best[int(label)] = max(best.get(int(label), -np.inf), np.float32(log + edge))
    order = sorted(best, key=lambda label: (0, 0, label) if label in wanted else (1, -best[label], label))
    return {label: best[label] for label in order[:k]}


@pytest.mark.parametrize("k", [1, 5, 12, 30])
def test_the_shortlist_is_the_best_of_all_paths(k):
    rng = np.random.default_rng(k)
    ids, edges = index(seed=k)
    edges = np.round(edges, 1)  # many are equal
    clusters = np.stack([rng.permutation(6)[:4] for _ in range(25)]).astype(np.int32)
    clusters[rng.random(clusters.shape) < 0.2] = -1
    logs = np.round(-rng.random(clusters.shape), 1).astype(np.float32)
    wanted = [np.sort(rng.permutation(30)[: rng.integers(0, 4)]) for _ in range(25)]
    offsets = np.cumsum([0, *map(len, wanted)]).astype(np.int64)
    found = find(clusters, logs, ids, edges, k, n_labels=30, wanted=(offsets, np.concatenate(wanted).astype(np.int32)))
    for row in range(25):
        expected = plain_shortlist(clusters[row], logs[row], ids, edges, k, set(wanted[row].tolist()))
        there = found.labels[row] >= 0
        assert dict(zip(found.labels[row][there].tolist(), found.log_scores[row][there], strict=True)) == expected
        assert there.sum() == len(expected)
        assert (found.log_scores[row][~there] == -1e30).all()
        # every path leads to its label, with its score
        place, edge = np.divmod(found.paths[row][there], ids.shape[1])
        chosen = clusters[row][place]
        np.testing.assert_array_equal(ids[chosen, edge], found.labels[row][there])
        np.testing.assert_array_equal(logs[row][place] + edges[chosen, edge], found.log_scores[row][there])
        own = [label for label in wanted[row] if label in expected]
        assert found.labels[row][: len(own)].tolist() == own


@pytest.mark.parametrize("k", [1, 5, 12, 30])
def test_by_sums_all_paths_count(k):
    """Who is kept is another question than what they score."""
    rng = np.random.default_rng(k)
    ids, edges = index(seed=k)
    clusters = np.stack([rng.permutation(6)[:4] for _ in range(25)]).astype(np.int32)
    clusters[rng.random(clusters.shape) < 0.2] = -1
    logs, shares = -rng.random(clusters.shape).astype(np.float32), rng.random(clusters.shape).astype(np.float32)
    wanted = [np.sort(rng.permutation(30)[: rng.integers(0, 4)]) for _ in range(25)]
    offsets = np.cumsum([0, *map(len, wanted)]).astype(np.int64)
    scores = np.exp(edges)
    found = find(
        clusters, logs, ids, edges, k, n_labels=30, wanted=(offsets, np.concatenate(wanted).astype(np.int32)),
        sums=(shares, scores),
    )  # fmt: skip
    for row in range(25):
        best = plain_shortlist(clusters[row], logs[row], ids, edges, 30, set())
        worth = dict.fromkeys(best, np.float32(0))
        for cluster, share in zip(clusters[row], shares[row], strict=True):
            for label, score in zip(ids[cluster], scores[cluster], strict=True) if cluster >= 0 else ():
                if label >= 0:
                    worth[int(label)] += share * score
        own = [label for label in wanted[row].tolist() if label in best][:k]
        others = sorted(set(best) - set(own), key=lambda label: (-worth[label], label))[: k - len(own)]
        there = found.labels[row] >= 0
        assert found.labels[row][: len(own)].tolist() == own
        assert set(found.labels[row][there].tolist()) == {*own, *others}
        for label, score in zip(found.labels[row][there].tolist(), found.log_scores[row][there], strict=True):
            assert score == best[label]


def test_products_and_their_gradients():
    a, W, ids = world(dim=37)
    safe = np.where(ids < 0, 0, ids)
    expected = np.einsum("rd,rkd->rk", a, W[safe]) * (ids >= 0)
    out = np.empty(ids.shape, np.float32)
    native.gather_dots(a, W, ids, out)
    np.testing.assert_allclose(out, expected, atol=1e-4)
    # the same bits in any company
    lone = np.empty((1, 2), np.float32)
    native.gather_dots(a[3:4], W, np.ascontiguousarray(ids[3:4, 4:6]), lone)
    np.testing.assert_array_equal(lone[0], out[3, 4:6])
    g = np.random.default_rng(1).standard_normal(ids.shape).astype(np.float32)
    by_vector = np.empty_like(a)
    native.gather_sums(g, W, ids, by_vector)
    masked = g * (ids >= 0)
    np.testing.assert_allclose(by_vector, np.einsum("rk,rkd->rd", masked, W[safe]), atol=1e-4)
    by_row = np.zeros_like(W)
    np.add.at(by_row, safe, masked[:, :, None] * a[:, None, :])
    labels, offsets, rows, values = by_label(ids, g, len(W))
    np.testing.assert_array_equal(labels, np.unique(ids[ids >= 0]))
    sums = np.empty((len(labels), W.shape[1]), np.float32)
    native.scatter_sums(offsets, rows, values, 0, len(labels), a, sums)
    np.testing.assert_allclose(sums, by_row[labels], atol=1e-4)


def test_the_beam_is_the_best_clusters_first():
    scores = np.round(np.random.default_rng(2).random((9, 14)), 1).astype(np.float32)
    found = np.empty((9, 5), np.int32)
    native.beam(scores, found)
    np.testing.assert_array_equal(found, np.lexsort((np.tile(np.arange(14), (9, 1)), -scores), axis=1)[:, :5])


def test_ranking_a_shortlist():
    a, W, ids = world(n=12, labels=40, k=25)
    logs = -np.random.default_rng(3).random(ids.shape).astype(np.float32)
    found, scores = np.empty((12, 6), np.int32), np.empty((12, 6), np.float32)
    native.rank(a, W, ids, logs, found, scores)
    products = np.einsum("rd,rkd->rk", a.astype(float), W[np.where(ids < 0, 0, ids)].astype(float))
    expected = np.where(ids < 0, -np.inf, logs - np.logaddexp(0, -products))
    order = np.argsort(-expected, axis=1)[:, :6]
    np.testing.assert_array_equal(found, np.take_along_axis(ids, order, axis=1))
    np.testing.assert_allclose(scores, np.take_along_axis(expected, order, axis=1), atol=1e-5)
    short = np.empty((12, 30), np.int32), np.empty((12, 30), np.float32)
    native.rank(a, W, ids, logs, *short)
    assert (short[0][:, 25:] == -1).all()


def check_gradients(function, *inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would rather have float64, which the kernels have not
        return torch.autograd.gradcheck(function, inputs, eps=0.1, atol=2e-3, rtol=1e-3, nondet_tol=0.0)


class Dense(torch.autograd.Function):
    """gradcheck wants gradients that are laid out as the inputs."""

    @staticmethod
    def forward(context, x):
        return x.view_as(x)

    @staticmethod
    def backward(context, g):
        return g.to_dense()


def test_gradients_of_products_by_differences():
    a, W, ids = (torch.from_numpy(array) for array in world(n=3, dim=5, labels=8, k=4))
    x, w = a.requires_grad_(), W.requires_grad_()
    assert check_gradients(lambda x, w: gather_dot(torch, x, Dense.apply(w), ids), x, w)
    (by_row,) = torch.autograd.grad(gather_dot(torch, x, w, ids).sum(), [w])
    assert by_row.is_sparse
    assert by_row.coalesce().indices()[0].tolist() == sorted(set(ids[ids >= 0].tolist()))


def test_functions_agree_with_plain_torch_everywhere():
    a, W, ids = (torch.from_numpy(array) for array in world())
    g = torch.from_numpy(np.random.default_rng(5).standard_normal(tuple(ids.shape)).astype(np.float32))
    results = []
    for kind in (torch.float32, torch.float64):  # the second takes the plain way
        x, w = a.to(kind).requires_grad_(), W.to(kind).requires_grad_()
        out = gather_dot(torch, x, w, ids)
        by_x, by_w = torch.autograd.grad(out, [x, w], g.to(kind))
        results.append([t.to_dense().detach().double() for t in (out, by_x, by_w)])
    for ours, plain in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, atol=1e-4, rtol=1e-4)


def test_paths_agree_with_plain_torch():
    ids, edges = index(seed=4)
    rng = np.random.default_rng(4)
    clusters = np.stack([rng.permutation(6)[:3] for _ in range(10)]).astype(np.int32)
    clusters[2, 1] = -1
    logs = -rng.random(clusters.shape).astype(np.float32)
    found = find(clusters, logs, ids, edges, 12, n_labels=30)
    g = rng.standard_normal(found.labels.shape).astype(np.float32)
    results = []
    for kind in (torch.float32, torch.float64):
        x, e = (torch.from_numpy(array).to(kind).requires_grad_() for array in (logs, edges))
        out = best_paths(torch, x, e, found)
        results.append([out, *torch.autograd.grad(out, [x, e], torch.from_numpy(g).to(kind))])
    for ours, plain in zip(*results, strict=True):
        torch.testing.assert_close(ours.double(), plain, atol=1e-5, rtol=1e-5)


def test_the_loss_agrees_with_plain_torch():
    rng = np.random.default_rng(6)
    scores = torch.from_numpy(rng.standard_normal((6, 15)) * 4).requires_grad_()
    logs = torch.from_numpy(-rng.random((6, 15)) - 0.01).requires_grad_()
    positive = torch.from_numpy(rng.random((6, 15)) < 0.2)
    ours, plain = (f(torch, scores, logs, positive, 0.3) for f in (shortlist_loss, plain_loss))
    torch.testing.assert_close(ours, plain)
    for a, b in zip(*(torch.autograd.grad(x, [scores, logs]) for x in (ours, plain)), strict=True):
        torch.testing.assert_close(a, b)
    # places without a label count nothing, and sure mistakes are finite
    nowhere = shortlist_loss(torch, scores, torch.full_like(logs, -1e30), torch.zeros_like(positive), 0.3)
    assert nowhere == 0
    sure = torch.full((1, 1), 200.0, requires_grad=True)
    loss = shortlist_loss(torch, sure, torch.zeros(1, 1), torch.zeros(1, 1, dtype=torch.bool), 0.3)
    assert torch.isfinite(loss)


def test_steps_are_those_of_torch():
    rng = np.random.default_rng(7)
    value = rng.standard_normal((5, 4)).astype(np.float32)
    twin = torch.nn.Parameter(torch.from_numpy(value.copy()))
    ours = AdamW({"w": value}, decay={"w": 0.1})
    theirs = torch.optim.AdamW([twin], lr=0.02, weight_decay=0.1)
    for _ in range(5):
        g = rng.standard_normal((5, 4)).astype(np.float32)
        ours.step({"w": g}, {"w": 0.02})
        twin.grad = torch.from_numpy(g)
        theirs.step()
    np.testing.assert_allclose(value, twin.detach().numpy(), atol=1e-5)


def test_what_begins_anew_takes_the_steps_of_a_new_one():
    rng = np.random.default_rng(9)
    old, other = rng.standard_normal((2, 5, 4)).astype(np.float32)
    ours = AdamW({"edges": old, "other": other})
    for _ in range(30):
        ours.step(
            {name: rng.standard_normal((5, 4)).astype(np.float32) for name in ours.values}, {"edges": 1, "other": 1}
        )
    old[...] = rng.standard_normal((5, 4))
    ours.forget("edges")
    fresh = AdamW({"edges": old.copy()})
    for _ in range(3):
        g = rng.standard_normal((5, 4)).astype(np.float32)
        ours.step({"edges": g}, {"edges": 0.1})
        fresh.step({"edges": g}, {"edges": 0.1})
    np.testing.assert_array_equal(old, fresh.values["edges"])
    again = AdamW({"edges": np.zeros_like(old), "other": np.zeros_like(other)})
    again.restore(ours.arrays())
    assert again.steps == ours.steps == {"edges": 3, "other": 30}


def test_a_bias_does_not_decay():
    rng = np.random.default_rng(10)
    value = rng.standard_normal((5, 4)).astype(np.float32)
    weights, bias = (torch.nn.Parameter(torch.from_numpy(part.copy())) for part in (value[:, :-1], value[:, -1:]))
    ours = AdamW({"w": value}, decay={"w": 0.5}, biased=("w",))
    groups = [{"params": [weights], "weight_decay": 0.5}, {"params": [bias], "weight_decay": 0.0}]
    theirs = torch.optim.AdamW(groups, lr=0.05)
    for _ in range(5):
        g = rng.standard_normal((5, 4)).astype(np.float32)
        ours.step({"w": g}, {"w": 0.05})
        weights.grad, bias.grad = (torch.from_numpy(part.copy()) for part in (g[:, :-1], g[:, -1:]))
        theirs.step()
    np.testing.assert_allclose(value, np.hstack([weights.detach(), bias.detach()]), atol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
def test_steps_of_rows_touch_only_those(threads):
    a, W, ids = world(n=30, labels=60, k=9)
    ids[ids % 7 == 0] = -1
    g = np.random.default_rng(8).standard_normal(ids.shape).astype(np.float32)
    before, rows = W.copy(), RowAdamW(W, decay=0.1, threads=threads)
    rows.step(ids, g, a, 0.01)
    touched = np.unique(ids[ids >= 0])
    rest = np.setdiff1d(np.arange(60), touched)
    np.testing.assert_array_equal(W[rest], before[rest])
    sums = np.zeros_like(W)
    np.add.at(sums, np.where(ids < 0, 0, ids), (g * (ids >= 0))[:, :, None] * a[:, None, :])
    expected = before - 0.01 * (np.sign(sums) + 0.1 * before * (np.arange(20) < 19))  # the first step is ± the rate
    np.testing.assert_allclose(W[touched], expected[touched], atol=1e-4)
