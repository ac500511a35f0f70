"""Explanations add up, agree with search, and say where a label was lost."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import xtrellis as xt
from xtrellis.arrays import as_row, unit_rows
from xtrellis.arrays.inputs import as_features
from xtrellis.index.tree import LabelTree
from xtrellis.linear.explain import margins
from xtrellis.linear.model import LinearTree
from xtrellis.linear.packed import PackedTree


def data(n=120, d=30, n_labels=40, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float32, format="csr")
    Y = (rng.random((n, n_labels)) < 0.1).astype(np.float32)
    Y[:, n_labels - 1] = 0  # a label without rows
    return X, sp.csr_array(Y)


def fitted(**params):
    X, Y = data()
    return X, LinearTree(index=xt.BalancedTree(max_leaf=4, arity=4), **params).fit(X, Y)


def shown(explanation, **options):
    stream = io.StringIO()
    Console(file=stream, width=100, highlight=False).print(explanation.render(**options))
    return stream.getvalue()


@pytest.mark.parametrize("transform", ["l2-hinge", "l3-hinge", "sigmoid"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"beam": 2},
        {"n_trees": 3, "beam": 4},
        {"search": "best-first", "beam": 3},
        {"search": "best-first", "beam": None},
        {"search": "best-first", "beam": None, "n_trees": 2},
    ],
)
def test_scores_and_ranks_are_those_of_search(transform, params):
    X, model = fitted(transform=transform, **params)
    for i in range(4):
        top = model.predict(X[[i]], k=model.n_labels)
        for place, (label, score) in enumerate(next(iter(top))):
            why = model.explain(X[[i]], label)
            assert why.reached
            assert why.search == why.to_dict()["search"] == model.search
            assert why.score == pytest.approx(score, rel=1e-5)
            assert why.n_found == (top.labels >= 0).sum()
            if abs(why.score - (top.scores[0, place - 1] if place else 2)) > 1e-6:
                assert why.rank == place + 1
        for label in set(range(model.n_labels)) - set(top.labels[0].tolist()):
            why = model.explain(X[[i]], label)
            assert (why.reached, why.rank, why.score) == (False, None, 0.0)
            assert why.open_score > 0


def test_contributions_add_up_to_margins_and_steps_to_scores():
    X, model = fitted(beam=3)
    for label in range(0, 40, 3):
        for path in model.explain(X[[1]], label).paths:
            product = 1.0
            for step in path.steps:
                assert step.bias + sum(push.contribution for push in step.pushes) == pytest.approx(
                    step.margin, rel=0, abs=1e-13
                )
                assert all(push.contribution == push.value * push.weight for push in step.pushes)
                sizes = [abs(push.contribution) for push in step.pushes]
                assert sizes == sorted(sizes, reverse=True)
                product *= step.score
                assert step.path_score == pytest.approx(product, rel=1e-12)
            assert path.steps[-1].labels == (label,)
            assert path.steps[-1].node is None


def test_margins_are_those_of_the_kernel():
    """One tree of one node: its labels' scores are its margins, so the kernel's can be read off."""
    X, Y = data(n_labels=300)  # two blocks
    model = LinearTree(index=xt.FlatTree(), transform="sigmoid").fit(X, Y)
    row = unit_rows(as_features(X[[3]]))
    top = model.predict(X[[3]], k=300)
    labels, scores = top.labels[0], top.scores[0]
    ours = margins(model.trees[0], 0, row)
    np.testing.assert_allclose(ours[labels], np.log(scores) - np.log1p(-scores), atol=1e-5)
    assert [model.explain(X[[3]], label).paths[0].steps[0].margin for label in (0, 255, 256, 299)] == pytest.approx(
        ours[[0, 255, 256, 299]].tolist(), abs=1e-12
    )


def test_it_says_where_the_beam_lost_a_label():
    X, model = fitted(beam=1)
    lost = 0
    for label in range(40):
        why = model.explain(X[[2]], label)
        path = why.paths[0]
        if path.lost_at is None:
            assert path.steps[-2].rank == 1
            continue
        lost += 1
        step = path.steps[path.lost_at]
        assert step.rank > 1
        assert step.rivals >= step.rank
        assert all(after.rank is None and not after.kept for after in path.steps[path.lost_at + 1 :])
        assert "not found: its cluster came in as number" in shown(why)
        assert f"{step.rank} of {step.rivals}: beyond the beam" in shown(why)
    assert lost > 30


def test_a_label_in_several_places_is_told_place_by_place():
    X, model = fitted()
    # A tree in which label 0 sits in two leaves.
    tree = LabelTree([0, 2, 5, 8], [1, 2, ~0, ~1, ~2, ~0, ~3, ~4], 5)
    rng = np.random.default_rng(1)
    blocks = []
    for size in (2, 3, 3):  # children of each node; every feature has a weight for each of them
        starts = (np.arange(31) * size).astype(np.uint32)
        children = np.tile(np.arange(size, dtype=np.uint8), 30)
        blocks.append((np.arange(30, dtype=np.int32), starts, children, rng.normal(size=30 * size).astype(np.float32)))
    model._trees = (PackedTree.pack(tree, blocks, rng.normal(size=8).astype(np.float32), 30),)
    why = model.explain(X[[0]], 0)
    assert len(why.paths) == 2
    assert {path.steps[0].node for path in why.paths} == {1, 2}
    assert why.paths[0].score >= why.paths[1].score
    assert why.score == why.open_score == why.paths[0].score
    assert why.deciding == why.paths[:1]
    assert why.pushes().keys() == {push.feature for step in why.paths[0].steps for push in step.pushes}
    assert "place 1 of 2" in shown(why)
    assert "(1 more places in the tree)" in shown(why, compact=True)
    model.beam = 1
    narrow = model.explain(X[[0]], 0)
    assert sorted(path.reached for path in narrow.paths) == [False, True]
    assert narrow.paths[0].reached
    assert narrow.score == narrow.paths[0].score
    assert tree.labels_below(0).tolist() == [0, 1, 2, 3, 4]
    assert tree.labels_below(2).tolist() == [0, 3, 4]


def test_several_trees_are_averaged():
    X, model = fitted(n_trees=3, beam=100)
    why = model.explain(X[[5]], 7)
    assert [path.tree for path in why.paths] == [0, 1, 2]
    assert why.score == pytest.approx(np.mean([path.score for path in why.paths]), rel=1e-12)
    assert "tree 3 of 3" in shown(why)
    total = sum(push.contribution for path in why.paths for step in path.steps for push in step.pushes)
    assert sum(why.pushes().values()) == pytest.approx(total / 3)


def test_rows_of_every_kind():
    X, model = fitted()
    expected = model.explain(X[[4]], 2)
    dense = X[[4]].toarray()
    for x in (
        X[4],
        sp.csr_matrix(X)[4],
        sp.coo_array(X[[4]]),
        dense,
        dense[0],
        dense[0].astype(np.float64),
        dense[0].tolist(),
    ):
        assert model.explain(x, 2) == expected
    assert model.explain(X[[4]], np.int64(2)) == expected


def test_a_row_without_features_and_a_label_without_rows():
    X, model = fitted()
    nothing = model.explain(np.zeros(30), 39)
    for step in nothing.paths[0].steps:
        assert step.pushes == ()
        assert step.margin == step.bias
    assert "bias" in shown(nothing)
    assert nothing.pushes() == {}
    assert model.explain(X[[0]], 39).paths[0].steps[-1].n_labels == 1


def test_clusters_are_told_by_their_frequent_labels():
    X, model = fitted()
    counts = np.arange(40)
    step = model.explain(X[[0]], 5, label_counts=counts).paths[0].steps[0]
    below = model.tree.labels_below(step.node).tolist()
    assert step.n_labels == len(below)
    assert list(step.labels) == sorted(below, reverse=True)[:5]
    assert set(model.explain(X[[0]], 5).paths[0].steps[0].labels) <= set(below)


def test_as_plain_data():
    X, model = fitted()
    why = model.explain(X[[0]], 5)
    plain = json.loads(json.dumps(why.to_dict()))
    assert plain["label"] == 5
    assert "name" not in plain
    assert plain["paths"][0]["steps"][0]["margin"] == why.paths[0].steps[0].margin
    named = why.to_dict([f"L{i}" for i in range(40)], [f"f{i}" for i in range(30)])
    assert named["name"] == "L5"
    push = named["paths"][0]["steps"][0]["features"][0]
    assert push["name"] == f"f{push['feature']}"


def test_shown_with_and_without_names():
    X, model = fitted()
    why = model.explain(X[[0]], 5)
    assert "label 5" in shown(why)
    assert "feature " in shown(why)
    named = shown(why, label_names=[f"L{i}" for i in range(40)], feature_names=["f" * 60] * 30, top=2)
    assert "L5" in named
    assert "f" * 39 + "…" in named
    assert " more " in named
    for line in (shown(why) + shown(why, compact=True)).splitlines():
        assert len(line) <= 100
        assert line == line.rstrip()


def test_bad_questions_are_named():
    X, model = fitted()
    with pytest.raises(xt.NotFittedError, match="call fit first"):
        LinearTree().explain(X[[0]], 0)
    for label in (-1, 40, "a", 1.5):
        with pytest.raises(xt.ParameterError, match="label must be an integer ≥ 0 and ≤ 39"):
            model.explain(X[[0]], label)
    with pytest.raises(xt.InputError, match="x must be one row; got 2"):
        model.explain(X[:2], 0)
    with pytest.raises(xt.InputError, match="x has 29 features"):
        model.explain(np.zeros(29), 0)
    with pytest.raises(xt.InputError, match="x must be a matrix of numbers"):
        model.explain(["a"], 0)
    with pytest.raises(xt.InputError, match="label_counts must be 40 numbers"):
        model.explain(X[[0]], 0, label_counts=[1, 2])


@given(seed=st.integers(0, 10_000))
@settings(max_examples=40)
def test_damaged_weights_break_nothing(seed):
    X, model = fitted(beam=2)
    state = model.trees[0].to_state()
    rng = np.random.default_rng(seed)
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    for name in ("buckets", "bytes", "biases", "scales"):
        raw = arrays[name].view(np.uint8)
        raw[rng.integers(0, len(raw), 20)] = rng.integers(0, 256, 20)
    state.arrays = arrays
    model._trees = (PackedTree.from_state({}, state),)
    for label in (0, 20, 39):
        assert shown(model.explain(X[[0]], label))


def test_as_row_keeps_what_it_is_given():
    X, _ = data()
    assert as_row(X[0], n_features=30).shape == (1, 30)
