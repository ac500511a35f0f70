"""Packing is a detour: what comes out of a block is what went in, whatever the shape of its buckets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis._native import search as native
from xtrellis.arrays.inputs import as_rows
from xtrellis.index.tree import LabelTree
from xtrellis.linear.packed import PackedTree
from xtrellis.linear.search import EVERYTHING, SearchSettings, search_tree


def flat(n_labels):
    return LabelTree(np.array([0, n_labels]), ~np.arange(n_labels), n_labels)


def a_block(seed, n_features, rows, n_children):
    """Random weights: some features with one child, some with all."""
    rng = np.random.default_rng(seed)
    features = np.sort(rng.choice(n_features, rows, replace=False)).astype(np.int32)
    dense = rng.standard_normal((rows, n_children)).astype(np.float32)
    dense[rng.random((rows, n_children)) > rng.random((rows, 1)) ** 3] = 0
    dense[np.arange(rows), rng.integers(0, n_children, rows)] = 1.5
    dense[rows // 2] = 0.25  # one feature with all children
    keep = dense != 0
    starts = np.concatenate([[0], np.cumsum(keep.sum(1))]).astype(np.uint32)
    return (features, starts, np.nonzero(keep)[1].astype(np.uint8), dense[keep]), dense


# Narrow keys (many features in a block for the size of the space), wide keys, crowded and lonely buckets.
SHAPES = [(40, 40, 3), (300, 200, 256), (5_000, 3_000, 16), (1 << 20, 40, 100), (1 << 20, 5_000, 2), (1 << 17, 1, 1)]


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize(("n_features", "rows", "n_children"), SHAPES)
def test_a_block_comes_out_as_it_went_in(n_features, rows, n_children, storage):
    block, dense = a_block(rows, n_features, rows, n_children)
    packed = PackedTree.pack(flat(n_children), [block], np.zeros(n_children, np.float32), n_features, storage=storage)
    features, starts, children, weights = packed.block(0)
    for found, given in zip((features, starts, children), block, strict=False):
        np.testing.assert_array_equal(found, given)
    close = {"float32": 0, "float16": 1e-2, "int8": np.abs(dense).max() / 127}[storage]
    np.testing.assert_allclose(weights, block[3], atol=close, rtol=0)


@pytest.mark.parametrize(("n_features", "rows", "n_children"), SHAPES)
def test_margins_are_those_of_the_dense_matrix(n_features, rows, n_children):
    block, dense = a_block(rows, n_features, rows, n_children)
    biases = np.linspace(-0.1, 0.1, n_children, dtype=np.float32)
    packed = PackedTree.pack(flat(n_children), [block], biases, n_features, transform="sigmoid")
    rng = np.random.default_rng(1)
    W = sp.csr_array((dense.ravel(), (np.repeat(block[0], n_children), np.tile(np.arange(n_children), rows))),
                     shape=(n_features, n_children))  # fmt: skip
    X = sp.random_array((30, n_features), density=min(1, 60 / n_features), rng=rng, dtype=np.float32).tolil()
    X[np.arange(30), rng.choice(block[0], 30)] = 0.3  # every row hits at least one feature of the block
    X = sp.csr_array(X.tocsr(), dtype=np.float32)
    scores = 1 / (1 + np.exp(-((X @ W).toarray() + biases).astype(np.float64)))
    together = search_tree(packed, as_rows(X, n_features=n_features), n_children, SearchSettings())
    np.testing.assert_allclose(together.to_csr().toarray(), scores, atol=2e-5)
    alone = [
        search_tree(packed, as_rows(X[[i]], n_features=n_features), n_children, SearchSettings()) for i in range(30)
    ]
    np.testing.assert_allclose(np.concatenate([a.to_csr().toarray() for a in alone]), scores, atol=2e-5)


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("n_children", [2, 7, 16, 40, 64, 100, 256])  # the last two are too wide to be laid out dense
def test_a_block_that_many_rows_open_gives_the_bits_of_one_that_few_look_into(n_children, storage):
    n_features, n, few, width = 4_000, 600, 16, 40
    block, _ = a_block(3, n_features, 3_000, n_children)
    biases = np.linspace(-0.1, 0.1, n_children, dtype=np.float32)
    packed = PackedTree.pack(flat(n_children), [block], biases, n_features, storage=storage)
    buckets = int(np.diff(packed.arrays["bucket_offsets"])[0]) - 1
    assert few * width < 8 * buckets < 32 * buckets <= n * width  # table.hpp: what pays for opening
    rng = np.random.default_rng(2)
    ids = np.concatenate([np.sort(rng.choice(n_features, width, replace=False)) for _ in range(n)])
    values = rng.standard_normal(n * width).astype(np.float32)
    X = as_rows(sp.csr_array((values, ids, width * np.arange(n + 1)), shape=(n, n_features)), n_features=n_features)
    k = min(10, n_children)
    together = search_tree(packed, X, k, SearchSettings(), threads=1)
    labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    for first in range(0, n, few):
        last = min(n, first + few)
        native.batch(
            packed.native, X.indptr, X.indices, X.data, n_features, first, last, 10, EVERYTHING, labels, scores
        )
    np.testing.assert_array_equal(together.labels, labels)
    np.testing.assert_array_equal(together.scores.view(np.int32), scores.view(np.int32))


def test_a_model_with_another_layout_is_refused():
    block, _ = a_block(0, 50, 20, 4)
    state = PackedTree.pack(flat(4), [block], np.zeros(4, np.float32), 50).to_state()
    state.meta["layout"] = 1
    with pytest.raises(xt.StoreError, match="layout 1"):
        PackedTree.from_state({}, state)
