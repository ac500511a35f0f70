"""`LinearTree(overlap=…)`: copies are found once, merged as promised, and go wherever other trees go."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from linear_stopper import Stopper

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.experiments import RandomOverlap, overlap_rounds
from xtrellis.index.overlap import Placing, leaf_nodes, placing_of
from xtrellis.linear.packed import FAINT

N, D, L = 300, 60, 48


@pytest.fixture(scope="module")
def data():
    """Labels with two meanings: each fused from two that have nothing in common."""
    dice = np.random.default_rng(0)
    plain = (dice.random((N, 2 * L)) < 2 / L).astype(np.float32)
    X = (plain @ dice.random((2 * L, D)) ** 3) * (dice.random((N, D)) < 0.7)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)  # models see rows at unit length
    Y = np.minimum(plain[:, :L] + plain[:, L:], 1)
    Y[:, 7] = 0
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def small(**params):
    overlap = xt.Overlap(**{"copies": 2, "beam": 4, **params.pop("overlap", {})})
    return xt.LinearTree(**{"index": xt.BalancedTree(arity=4, max_leaf=4), "overlap": overlap, "seed": 1, **params})


def place_scores(packed, x):
    """The score of every slot for one dense row, all nodes looked at; NumPy only."""
    tree = packed.tree
    logs = np.zeros(tree.n_slots)
    above = np.zeros(tree.n_nodes)
    for node in range(tree.n_nodes):
        begin, end = tree.offsets[node], tree.offsets[node + 1]
        margins = packed.arrays["biases"][begin:end].astype(np.float64)
        for block in range(packed.blocks[node], packed.blocks[node + 1]):
            features, starts, children, weights = packed.block(block)
            for i, feature in enumerate(features):
                span = slice(starts[i], starts[i + 1])
                np.add.at(margins, children[span] + 256 * (block - packed.blocks[node]), x[feature] * weights[span])
        logs[begin:end] = above[node] - np.maximum(0, 1 - margins) ** 3
        inner = tree.children[begin:end] >= 0
        above[tree.children[begin:end][inner]] = logs[begin:end][inner]
    return np.exp(logs)


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("merge", ["mean", "max"])
def test_all_searches_merge_copies_as_brute_force_does(data, merge, storage):
    X, Y = data
    model = small(overlap={"merge": merge}, beam=None, storage=storage).fit(X, Y)
    packed, tree = model.trees[0], model.tree
    assert tree.has_copies
    offsets, slots = tree.label_slots

    def join(scores):
        return np.mean(scores[scores >= scores.max() * FAINT]) if merge == "mean" else np.max(scores)

    rows = range(0, N, 25)
    answers = {"batch": model.predict(X, k=L)}
    answers["best-first"] = model.clone().set_params(search="best-first")
    answers["best-first"]._trees = model.trees
    answers["best-first"] = answers["best-first"].predict(X, k=6)
    given = model.score(X, sp.csr_array(np.ones((N, L), np.float32))).toarray()
    for row in rows:
        places = place_scores(packed, X[[row]].toarray().ravel().astype(np.float64))
        expected = np.array([join(places[slots[offsets[label] : offsets[label + 1]]]) for label in range(L)])
        single = model.predict(X[[row]], k=6)
        for name, top in {**{n: t[row : row + 1] for n, t in answers.items()}, "single": single}.items():
            labels = top.labels[0]
            assert len(set(labels.tolist())) == len(labels), name
            np.testing.assert_allclose(top.scores[0], expected[labels], rtol=2e-3, atol=1e-9, err_msg=name)
            np.testing.assert_allclose(
                top.scores[0], np.sort(expected)[::-1][: len(labels)], rtol=2e-3, atol=1e-9, err_msg=name
            )
        np.testing.assert_allclose(given[row], expected, rtol=2e-3, atol=1e-9)


@pytest.mark.parametrize("merge", ["mean", "max"])
def test_with_a_beam_one_row_and_many_give_the_same_bits(data, merge):
    X, Y = data
    model = small(overlap={"merge": merge, "copies": 3}, beam=3).fit(X, Y)
    many = model.predict(X, k=5)
    for row in range(0, N, 20):
        one = model.predict(X[[row]], k=5)
        np.testing.assert_array_equal(one.labels[0], many.labels[row])
        np.testing.assert_array_equal(one.scores[0], many.scores[row])
        best = int(many.labels[row, 0])
        told = model.explain(X[[row]], best)
        assert told.score == pytest.approx(float(many.scores[row, 0]), rel=1e-4)
        assert told.rank == 1
        assert told.merge == merge
    only = model.predict(X, k=5, labels=[3, 9, 11])
    assert set(np.unique(only.labels)) <= {-1, 3, 9, 11}


def test_it_is_better_than_no_overlap_and_covers_more(data):
    X, Y = data
    model = small(beam=2, overlap={"beam": 2}).fit(X, Y)
    plain = small(beam=2).set_params(overlap=None).fit(X, Y)
    told = model.overlap_rounds[0][0]
    assert told.covered_after > told.covered_before
    score = {m: xt.evaluate(Y, m.predict(X, k=5), ["P@5"])["P@5"] for m in (model, plain)}
    assert score[model] > score[plain]
    assert model.tree.n_slots > plain.tree.n_slots


def test_labels_without_rows_keep_their_place_and_limits_hold(data):
    X, Y = data
    base = small().set_params(overlap=None).fit(X, Y).tree
    model = small(overlap={"max_cluster_size": 9, "copies": 3}).fit(X, Y)
    tree = model.tree
    offsets, slots = tree.label_slots
    assert (np.diff(offsets) <= 3).all()
    assert np.bincount(tree.owner[slots])[leaf_nodes(tree)].max() <= 9
    free = small(overlap={"copies": 3, "max_cluster_size": None}).fit(X, Y).tree
    assert free.label_slots[0][8] - free.label_slots[0][7] == 1  # label 7 has no rows
    assert base.n_nodes >= free.n_nodes
    with pytest.raises(ValueError, match="max_cluster_size must be at least"):
        small(overlap={"max_cluster_size": 1}).fit(X, Y)


def test_clusters_are_limited_by_themselves_unless_that_is_not_wanted(data):
    X, Y = data
    sizes = {}
    for limit in ("auto", None):
        model = small(overlap={"copies": 3, "max_cluster_size": limit}).fit(X, Y)
        slots = model.tree.label_slots[1]
        sizes[limit] = np.bincount(model.tree.owner[slots])[leaf_nodes(model.tree)]
        assert model.overlap_rounds[0][0].largest == sizes[limit].max()
    now = placing_of(small().set_params(overlap=None).fit(X, Y).tree)
    most = int(np.ceil(1.5 * 3 * L / now.n_clusters))
    assert xt.Overlap(copies=3).limit(now) == most
    assert xt.Overlap(copies=3, max_cluster_size=None).limit(now) is None
    uneven = Placing.of_pairs(np.arange(L), np.minimum(np.arange(L), now.n_clusters - 1), L, now.n_clusters)
    assert xt.Overlap(copies=1).limit(uneven) == L - now.n_clusters + 1  # what is there already may stay
    assert sizes["auto"].max() <= most < sizes[None].max()
    with pytest.raises(xt.ParameterError, match="max_cluster_size must be an integer ≥ 1"):
        xt.Overlap(max_cluster_size="automatic")
    typed = xt.Overlap()
    for text, value in (("12", 12), ("none", None), ("auto", "auto")):
        typed.set_from_text("max_cluster_size", text)
        assert typed.max_cluster_size == value


@pytest.mark.parametrize(
    "index",
    [
        xt.KMeansTree(k=4, depth=3, max_leaf=5),
        xt.GivenTree(parents=[L + i % 6 for i in range(L)] + [-1] * 6),
        xt.GivenTree(parents=[L + i % 6 for i in range(L - 3)] + [-1] * 9),  # labels at the root as well
        xt.FlatTree(),
    ],
)
def test_any_tree_can_overlap(data, index, tmp_path):
    X, Y = data
    model = small(index=index, n_trees=2, prune=0.2, overlap={"rounds": 2}).fit(X, Y)
    top = model.predict(X, k=5)
    assert all(len(set(row[row >= 0].tolist())) == (row >= 0).sum() for row in top.labels)
    model.save(tmp_path / "m")
    again = xt.load(tmp_path / "m", verify=True)
    np.testing.assert_array_equal(again.predict(X, k=5).scores, top.scores)
    assert again.overlap_rounds == model.overlap_rounds
    assert again.overlap == model.overlap
    if not isinstance(index, xt.FlatTree):
        assert model.tree.has_copies
    narrow = model.stored_as("int8")
    assert narrow.trees[0].merge == "mean"
    assert narrow.overlap_rounds == model.overlap_rounds


@pytest.mark.parametrize("negatives", ["teacher", "both"])
@pytest.mark.parametrize("update", [True, False])
def test_a_stopped_training_goes_on_to_the_same_bytes(data, tmp_path, negatives, update):
    X, Y = data

    def make():
        return small(negatives=negatives, overlap={"update": update, "rounds": 2}, threads=1)

    whole = make().fit(X, Y)
    for stop_after in (2, 4, 6):
        at = tmp_path / f"{stop_after}"
        with pytest.raises(KeyboardInterrupt), progress.listen(Stopper(stop_after)):
            make().fit(X, Y, checkpoint=at)
        model = make().fit(X, Y, checkpoint=at)
        assert model.tree == whole.tree
        assert model.overlap_rounds == whole.overlap_rounds
        for name, array in whole.trees[0].arrays.items():
            assert model.trees[0].arrays[name].tobytes() == array.tobytes(), name
        model.discard_checkpoint()
        assert not at.exists()


def test_without_the_update_the_classifiers_above_stay(data):
    X, Y = data
    plain = small().set_params(overlap=None).fit(X, Y)
    model = small(overlap={"update": False}).fit(X, Y)
    assert model.tree.n_nodes == plain.tree.n_nodes
    n_inner = int(leaf_nodes(plain.tree)[0])
    for node in range(n_inner):
        for ours, theirs in zip(
            model.trees[0].block(int(model.trees[0].blocks[node])),
            plain.trees[0].block(int(plain.trees[0].blocks[node])),
            strict=True,
        ):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="at one depth"):
        small(index=xt.GivenTree(parents=[L + i % 6 for i in range(L - 3)] + [-1] * 9), overlap={"update": False}).fit(
            X, Y
        )


def test_precision_on_held_out_rows_after_every_round(data):
    X, Y = data
    model = small(overlap={"rounds": 2}, n_trees=2)
    plain, *rest = overlap_rounds(model, X, Y, holdout=0.3)
    assert not model.fitted, "only copies are trained"
    kept, held = xt.data.split_rows(N, holdout=0.3, seed=1)
    fitted = small(overlap={"rounds": 2}).fit(X[kept], Y[kept])
    assert len(rest) == len(fitted.overlap_rounds[0])
    assert [told["rounds"] for told in (plain, *rest)] == list(range(len(rest) + 1))
    names = ["P@1", "P@3", "P@5"]
    without = small().set_params(overlap=None).fit(X[kept], Y[kept])
    wanted = xt.evaluate(Y[held], without.predict(X[held], k=5), names)
    assert plain == {"rounds": 0.0} | {name: pytest.approx(value, abs=1e-3) for name, value in wanted.items()}
    for rounds, told in enumerate(rest, 1):
        top = small(overlap={"rounds": rounds}).fit(X[kept], Y[kept]).predict(X[held], k=5)
        assert told["P@5"] == pytest.approx(xt.evaluate(Y[held], top, ["P@5"])["P@5"], abs=1e-3)
    assert overlap_rounds(model, xt.TrainingData.of(X, Y), holdout=0.3) == [plain, *rest]
    with pytest.raises(ValueError, match=r"holdout=0\.1 leaves"):
        overlap_rounds(small(), X[:1], Y[:1], holdout=0.1)
    with pytest.raises(ValueError, match="needs a LinearTree with an overlap"):
        overlap_rounds(xt.LinearTree(), X, Y)


def test_random_copies_are_as_many_and_all_different(data):
    X, Y = data
    model, other = (small(seed=seed).set_params(overlap=RandomOverlap(copies=3, beam=4)).fit(X, Y) for seed in (1, 2))
    assert (np.diff(model.tree.label_slots[0]) == 3).all()
    assert model.tree != other.tree


def test_the_estimate_knows_copies_and_threads_do_not_matter(data):
    X, Y = data
    one, two = small(overlap={"copies": 1}).estimate(X, Y), small().estimate(X, Y)
    assert two.classifiers == one.classifiers + L
    assert two.model_bytes > one.model_bytes
    assert two.weights_bytes > one.weights_bytes
    a, b = (small(threads=t).fit(X, Y) for t in (1, 2))
    assert a.tree == b.tree
    assert a.trees[0].arrays["bytes"].tobytes() == b.trees[0].arrays["bytes"].tobytes()
