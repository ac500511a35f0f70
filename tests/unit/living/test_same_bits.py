"""Real texts: where nothing that an update has changed has a part in an answer, its five labels keep their bits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import as_features
from xtrellis.data import datasets
from xtrellis.linear import LinearTree
from xtrellis.linear.routes import Beams
from xtrellis.names import NameMatcher

K = 5


@pytest.fixture(scope="module")
def data():
    """Texts and labels of 2,500 rows, and texts to ask for."""
    split = datasets.load("pydocs")
    some, Y = split.train, split.train.Y[:2500]
    names = list(some.label_names)
    labels = [[names[j] for j in Y.indices[a:b]] for a, b in pairwise(Y.indptr.tolist())]
    kept = [i for i, own in enumerate(labels) if own]
    return [some.texts[i] for i in kept], [labels[i] for i in kept], list(split.test.texts[:600])


def learned(data, name: str):
    """A tagger before and after it has learned a few rows of labels old and new, and how rows look to each."""
    rows, labels, asked = data
    model = xt.preset(name, threads=1)
    if name in ("xr-linear", "overlap"):
        model.set_params(index__max_leaf=60, index__arity=4, beam=2)  # clusters of overlap hold up to 150
    before = xt.Tagger(xt.Vectorizer(), model, keep_rows=True).fit(rows, labels)
    texts = [rows[i] for i in (5, 17)] + ["zyxwvuts is a word that was never there"]
    after = before.clone()
    vars(after).update(vars(before.__copy__()))
    after.update(texts, [labels[5], labels[17], ["zyxwvuts"]])
    return before, after, asked


def visited(model: LinearTree, X) -> list[list[np.ndarray]]:
    """For each level, the nodes that search holds for every row."""
    packed, beams, how = model.trees[0], Beams.at_root(X.shape[0]), model.negative_rows()
    out = [[np.array([0])] * X.shape[0]]
    for level in packed.tree.levels():
        first, last = int(level[0]), int(level[-1]) + 1
        if last >= packed.tree.n_nodes:
            break
        beams = beams.descend(
            X, packed.tree, [packed.segment(first, last)], transform=how.transform, storage=packed.storage,
            beam=model.beam, threads=1,
        )  # fmt: skip
        out.append([beams.nodes[a:b] for a, b in pairwise(beams.offsets.tolist())])
    return out


def changed(before: LinearTree, after: LinearTree) -> set[int]:
    """Nodes whose children, or whose weights, are not the same to the bit; nodes themselves keep their numbers."""
    a, b = before.trees[0], after.trees[0]
    assert a.tree.n_nodes == b.tree.n_nodes
    assert a.n_blocks == b.n_blocks == a.tree.n_nodes
    out = set()
    for node in range(a.tree.n_nodes):
        mine, other = a.block(node), b.block(node)
        spans = [slice(int(t.tree.offsets[node]), int(t.tree.offsets[node + 1])) for t in (a, b)]
        told = (
            (a.tree.children[spans[0]], b.tree.children[spans[1]]),
            (a.arrays["biases"][spans[0]], b.arrays["biases"][spans[1]]),
            *zip(mine, other, strict=True),
        )
        if not all(np.array_equal(x, y) for x, y in told):
            out.add(node)
    return out


def untied(top: xt.TopK) -> np.ndarray:
    """Rows without equal scores: of such, the more frequent label comes first, and frequencies have changed."""
    return (np.diff(top.scores[:, : K + 1], axis=1) != 0).all(axis=1)


@pytest.mark.parametrize("name", ["xr-linear", "overlap"])
def test_a_tree_whose_trained_nodes_a_row_does_not_reach(data, name):
    before, after, texts = learned(data, name)
    nodes = changed(before.model, after.model)
    assert 0 < len(nodes) < before.model.trees[0].tree.n_nodes
    rows = [as_features(t.vectorizer.transform(texts)) for t in (before, after)]
    levels = [visited(t.model, X) for t, X in zip((before, after), rows, strict=True)]
    aside = np.array(
        [not any(nodes & {*level[i].tolist()} for way in levels for level in way) for i in range(len(texts))]
    )
    tops = [t.predict(texts, K + 1) for t in (before, after)]
    aside &= untied(tops[0]) & untied(tops[1])
    assert aside.mean() > 0.2
    np.testing.assert_array_equal(tops[0].labels[aside, :K], tops[1].labels[aside, :K])
    np.testing.assert_array_equal(tops[0].scores[aside, :K], tops[1].scores[aside, :K])
    assert not np.array_equal(tops[0].scores, tops[1].scores)  # something was learned


def test_best_where_no_member_says_anything_else(data):
    before, after, texts = learned(data, "best")
    old, new = before.model, after.model
    X = [as_features(t.vectorizer.transform(texts)) for t in (before, after)]
    told = np.flatnonzero(after.label_counts[: before.n_labels] != before.label_counts)
    touched = [*told.tolist(), before.n_labels]  # more rows than before, or new
    aside = np.ones(len(texts), bool)
    for a, b in zip(old.members, new.members, strict=True):
        ways = [m.predict(x, old.candidates, texts=texts) for m, x in zip((a, b), X, strict=True)]
        wide = min(w.labels.shape[1] for w in ways)
        alike = [np.array([np.array_equal(p[:wide], q[:wide]) for p, q in zip(*pair, strict=True)])
                 for pair in (tuple(w.labels for w in ways), tuple(w.scores for w in ways))]  # fmt: skip
        own = alike[0] & alike[1]
        if isinstance(a, NameMatcher):  # the new rows have names of other labels in their texts: these count too
            pairs = [(getattr(a.scorer, what), getattr(b.scorer, what)) for what in ("rows", "matches", "hits")]
            counted = np.logical_or.reduce([np.atleast_2d(p != q[..., : old.n_labels]).any(axis=0) for p, q in pairs])
            others = [*np.flatnonzero(counted).tolist(), old.n_labels]
            free = ~np.logical_or(*(np.isin(way.labels, others).any(axis=1) for way in ways))
            assert own[free].all()
            assert free.mean() > 0.3
        aside &= own
    tops = [t.predict(texts, K) for t in (before, after)]
    aside &= ~np.isin(tops[1].labels, touched).any(axis=1) & ~np.isin(tops[0].labels, touched).any(axis=1)
    assert aside.mean() > 0.02
    np.testing.assert_array_equal(tops[0].labels[aside], tops[1].labels[aside])
    np.testing.assert_array_equal(tops[0].scores[aside], tops[1].scores[aside])
