"""Losses and regularisers: gradients by finite differences, and the identities of the paper."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from xtrellis.arrays.inputs import as_labels
from xtrellis.neural.glas import losses, regularizers
from xtrellis.neural.glas.similarity import SIMILARITIES, Similarity

N, M, DIM = 7, 11, 5
DRAWN = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], dtype=torch.float64)  # how often each label was sampled


def unit(rng, n, dim=DIM):
    V = rng.standard_normal((n, dim))
    return V / np.linalg.norm(V, axis=1, keepdims=True)


def label_matrix(seed=0, n=50, labels=M, share=0.2):
    return as_labels((np.random.default_rng(seed).random((n, labels)) < share).astype(np.float32))


def block_of(Y, kind="arithmetic", drawn=None):
    return Similarity(Y, kind).block(np.arange(Y.shape[1], dtype=np.int32), drawn)


def dense(block):
    return sp.csr_array((block.U.data, block.U.indices, block.U.indptr), shape=block.U.shape).toarray()


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    known = torch.tensor([0, 0, 1, 2, 3, 4, 5, 6]), torch.tensor([0, 3, 1, 2, 3, 4, 5, 6])
    return torch.tensor(rng.standard_normal((N, M)), requires_grad=True), torch.arange(N) % 7, known


def odds(scores):
    return torch.linspace(0, 1, scores.shape[1], dtype=scores.dtype)


def functions():
    return {
        "margin": lambda s, p, k: losses.margin(s, p, k, gap=0.7),
        "negative-mining": lambda s, p, k: losses.negative_mining(s, p, k, gap=0.7, hardest=4),
        "softmax": lambda s, p, k: losses.softmax(s, p, k, odds=odds(s)),
    }


@pytest.mark.parametrize("name", losses.LOSSES)
def test_gradients_of_losses(scores, name):
    matrix, positives, known = scores
    assert torch.autograd.gradcheck(lambda s: functions()[name](s, positives, known), matrix)


def test_values_of_losses(scores):
    """Against loops over rows and labels: sums over negatives, as in eq. 1."""
    matrix, positives, known = scores
    S = matrix.detach().numpy()
    has = np.zeros((N, M), bool)
    has[known[0], known[1]] = True
    margin = mining = cross = 0.0
    for i in range(N):
        own, others = S[i, positives[i]], S[i][~has[i]]
        hinge = np.maximum(others - own + 0.7, 0)
        margin += hinge.sum()
        mining += np.sort(hinge)[-4:].sum()
        cross -= own - np.log(np.exp(own) + np.exp(others + np.linspace(0, 1, M)[~has[i]]).sum())
    expected = {"margin": margin, "negative-mining": mining, "softmax": cross}
    for name, function in functions().items():
        assert function(*scores).item() == pytest.approx(expected[name])


@pytest.mark.parametrize("name", losses.LOSSES)
def test_a_row_that_has_every_label_adds_nothing(name):
    matrix = torch.zeros((1, 2), dtype=torch.float64, requires_grad=True)
    known = torch.tensor([0, 0]), torch.tensor([0, 1])
    loss = functions()[name](matrix, torch.tensor([0]), known)
    assert loss.item() == pytest.approx(0, abs=1e-12)
    (gradient,) = torch.autograd.grad(loss, [matrix])
    assert gradient.abs().max() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", regularizers.REGULARIZERS)
def test_gradients_of_regularizers(name):
    rng = np.random.default_rng(2)
    V = torch.tensor(unit(rng, M), requires_grad=True)
    block = block_of(label_matrix(), drawn=DRAWN.numpy())
    inputs = torch.tensor(unit(rng, 4), requires_grad=True)
    if name == "gravity":
        assert torch.autograd.gradcheck(lambda v, x: regularizers.gravity(v, x, DRAWN), (V, inputs))
    else:
        assert torch.autograd.gradcheck(lambda v: value(name, v, block), V)


def value(name, V, block):
    counts = torch.tensor(block.counts, dtype=V.dtype)
    if name == "spread-out":
        return regularizers.spread_out(V, counts)
    return getattr(regularizers, name)(V, block, counts, torch)


def test_a_pair_weighs_as_often_as_it_was_drawn():
    """Against algorithm 2 word for word: the B × B matrices of the labels that were sampled, duplicates and all."""
    rng = np.random.default_rng(8)
    V, X, Y = unit(rng, M), unit(rng, 6), label_matrix()
    sampled = np.repeat(np.arange(M), DRAWN.long().numpy())
    B = len(sampled)
    A = (Y.T @ Y).toarray().astype(float)
    F = A / A.diagonal()[None, :]
    U = (0.5 * (F + F.T))[np.ix_(sampled, sampled)]
    gram = V[sampled] @ V[sampled].T
    other = sampled[:, None] != sampled[None]
    t, block = torch.tensor(V), block_of(Y, drawn=DRAWN.numpy())
    assert value("glas", t, block).item() == pytest.approx(((gram - U) ** 2).sum() / B**2)
    assert value("spread-out", t, block).item() == pytest.approx((gram[other] ** 2).sum() / B**2)
    distances = ((V[sampled][:, None] - V[sampled][None]) ** 2).sum(-1)
    assert value("laplacian", t, block).item() == pytest.approx((distances * U).sum() / B**2)
    expected = ((X @ V[sampled].T) ** 2).sum() / B
    assert regularizers.gravity(t, torch.tensor(X), DRAWN).item() == pytest.approx(expected)


def test_values_of_regularizers():
    """Against the paper's sums over all pairs, built as matrices."""
    rng = np.random.default_rng(3)
    V, X, Y = unit(rng, M), unit(rng, 6), label_matrix()
    A = (Y.T @ Y).toarray().astype(float)
    F = A / A.diagonal()[None, :]
    U = 0.5 * (F + F.T)
    gram = V @ V.T
    off = ~np.eye(M, dtype=bool)
    t, block = torch.tensor(V), block_of(Y)
    assert value("glas", t, block).item() == pytest.approx(((gram - U) ** 2).sum() / M**2)
    assert value("spread-out", t, block).item() == pytest.approx((gram[off] ** 2).sum() / M**2)
    distances = ((V[:, None] - V[None]) ** 2).sum(-1)
    assert value("laplacian", t, block).item() == pytest.approx((distances * U).sum() / M**2)
    once = torch.ones(M, dtype=torch.float64)
    assert regularizers.gravity(t, torch.tensor(X), once).item() == pytest.approx(((X @ V.T) ** 2).sum() / M)


def test_kernels_in_float32_give_the_same():
    V = unit(np.random.default_rng(3), M)
    block = block_of(label_matrix())
    for name in ("glas", "laplacian"):
        both = []
        for dtype in (torch.float32, torch.float64):
            leaf = torch.tensor(V, dtype=dtype, requires_grad=True)
            result = value(name, leaf, block)
            both.append((result.item(), torch.autograd.grad(result, [leaf])[0].double().numpy()))
        assert both[0][0] == pytest.approx(both[1][0], rel=1e-5)
        np.testing.assert_allclose(both[0][1], both[1][1], atol=1e-6)


def test_glas_is_spread_out_when_labels_never_meet():
    Y = as_labels(np.eye(M, dtype=np.float32)[np.arange(40) % M])
    V = torch.tensor(unit(np.random.default_rng(4), M))
    for kind in SIMILARITIES:
        block = block_of(Y, kind)
        np.testing.assert_allclose(dense(block), np.eye(M))
        assert value("glas", V, block).item() == pytest.approx(value("spread-out", V, block).item())


def test_glas_is_laplacian_and_spread_out_up_to_a_constant():
    rng = np.random.default_rng(5)
    block = block_of(label_matrix())
    U = dense(block)
    off = ~np.eye(M, dtype=bool)
    constant = (U[off] ** 2 - 2 * U[off]).sum() / M**2
    for _ in range(3):
        V = torch.tensor(unit(rng, M))
        both = value("laplacian", V, block) + value("spread-out", V, block)
        assert value("glas", V, block).item() == pytest.approx((both + constant).item())


def test_a_block_is_an_unbiased_estimate_of_the_whole():
    """Mean over all blocks of m labels = the whole, once each is scaled by the pairs it has."""
    from itertools import combinations

    labels, m = 7, 3
    Y = label_matrix(labels=labels)
    V = unit(np.random.default_rng(6), labels)
    similarity = Similarity(Y, "arithmetic")
    found = []
    for chosen in combinations(range(labels), m):
        ids = np.array(chosen, np.int32)
        found.append(value("glas", torch.tensor(V[ids]), similarity.block(ids)).item() * m**2 / (m * (m - 1)))
    whole = value("glas", torch.tensor(V), block_of(Y)).item() * labels**2 / (labels * (labels - 1))
    assert np.std(found) > 0.01  # they do differ
    assert np.mean(found) == pytest.approx(whole)


@pytest.mark.parametrize("kind", SIMILARITIES)
def test_similarities(kind):
    Y = label_matrix(n=80)
    U = dense(block_of(Y, kind))
    D = Y.toarray().astype(float)
    n = len(D)
    np.testing.assert_allclose(U, U.T, atol=1e-7)
    np.testing.assert_allclose(U.diagonal(), 1)
    assert U.min() >= 0
    assert U.max() <= 1 + 1e-6
    for a, b in ((0, 1), (3, 8), (10, 2)):
        both, za, zb = (D[:, a] * D[:, b]).sum(), D[:, a].sum(), D[:, b].sum()
        expected = {
            "arithmetic": 0.5 * (both / za + both / zb),
            "geometric": both / np.sqrt(za * zb),
            "jaccard": both / (za + zb - both),
            "pmi": max(0.0, np.log(n * both / (za * zb)) / -np.log(both / n)) if both else 0.0,
        }
        assert U[a, b] == pytest.approx(expected[kind], rel=1e-5)


def test_labels_without_rows_and_labels_of_every_row():
    Y = np.zeros((20, 4), np.float32)
    Y[:, [0, 1]] = 1  # in every row, so they tell nothing; label 2 has none
    Y[:10, 3] = 1
    for kind in SIMILARITIES:
        U = dense(block_of(as_labels(Y), kind))
        assert np.isfinite(U).all()
        np.testing.assert_allclose(U.diagonal(), 1)
        assert U[0, 1] == pytest.approx(1)
        assert (U[2, [0, 1, 3]] == 0).all()
