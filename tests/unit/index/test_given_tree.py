"""A user's own hierarchy: all its forms, what it may look like, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis import GivenTree
from xtrellis.labels.space import LabelSpace


def space(n_labels, names=None):
    data = xt.TrainingData.of(np.ones((2, 3)), np.ones((2, n_labels)), label_names=names)
    return LabelSpace(data, threads=1)


def nested(tree, node=0):
    """The tree as nested lists: nodes are lists, labels integers."""
    slots = tree.children[tree.offsets[node] : tree.offsets[node + 1]].tolist()
    return [nested(tree, c) if c >= 0 else ~c for c in slots]


def build(n_labels, **params):
    return nested(GivenTree(**params).build(space(n_labels), seed=0))


def test_integers():
    #     labels 0 1 | 2 3 | 4      groups 5 (0 1), 6 (2 3), 7 (5 6); 4 at the top
    assert build(5, parents=[5, 5, 6, 6, -1, 7, 7, -1]) == [[[0, 1], [2, 3]], 4]
    assert build(5, parents=np.array([5, 5, 6, 6, -1, 7, 7, -1], np.int32)) == [[[0, 1], [2, 3]], 4]


def test_mapping_and_file_say_the_same(tmp_path):
    edges = {"0": "fruit", 1: "fruit", "2": "bird", "3": "bird", "fruit": "", "bird": None}
    file = tmp_path / "h.tsv"
    file.write_text("0\tfruit\n1\tfruit\n\n2\tbird\r\n3\tbird\nfruit\t\nbird\t\n")
    assert build(4, parents=edges) == build(4, path=str(file)) == [[0, 1], [2, 3]]


def test_several_tops_are_joined_and_one_is_the_root():
    assert build(4, parents={0: "a", 1: "a", 2: "b", 3: "b"}) == [[0, 1], [2, 3]]
    assert build(4, parents={0: "a", 1: "a", 2: "b", 3: "b", "a": "top", "b": "top"}) == [[0, 1], [2, 3]]
    assert build(2, parents={0: "a", 1: "a", "a": "b", "b": "c"}) == [0, 1]


def test_a_label_with_children_sits_in_its_own_node():
    assert build(4, parents=[-1, 0, 0, -1]) == [[0, 1, 2], 3]
    assert build(4, parents=[-1, 0, 1, 2]) == [[[2, 3], 1], 0]  # a chain: every label but the last has a node


def test_idle_nodes_are_left_out():
    assert build(3, parents={0: "a", 1: "a", "a": "b", "b": "c", 2: "c", "nobody": "d", "d": "c"}) == [[0, 1], 2]
    assert build(2, parents={0: "a", 1: "b"}) == [0, 1]
    assert build(1, parents={0: "a"}) == [0]


def test_a_leaf_label_may_sit_in_several_places(tmp_path):
    file = tmp_path / "h.tsv"
    file.write_text("0\ta\n1\ta\n1\tb\n2\tb\n1\tb\n")
    assert build(3, path=str(file)) == [[0, 1], [1, 2]]


def test_two_places_that_become_one(tmp_path):
    file = tmp_path / "h.tsv"
    file.write_text("0\ta\n0\tb\n1\tc\na\tc\nb\tc\n2\t\n")
    assert build(3, path=str(file)) == [[0, 1], 2]


def test_labels_the_hierarchy_lacks():
    with pytest.raises(xt.InputError, match="lacks 2 of 4 labels: label 2, label 3; add them"):
        build(4, parents={0: "a", 1: "a"})
    assert build(4, parents={0: "a", 1: "a"}, missing="root") == [[0, 1], 2, 3]
    with pytest.raises(xt.InputError, match="entry for each of the 4 labels; got 2"):
        build(4, parents=[-1, -1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"parents": [2, 2, 3, 4, 2]}, "runs in a ring: node . → node . → node . → node ."),
        ({"parents": [1, 0]}, "runs in a ring: label"),
        ({"parents": {"0": "a", "1": "a", "a": "a"}}, "runs in a ring: 'a' → 'a'"),
        ({"parents": {"0": "a", "1": "a", "a": "b", "b": "c", "c": "a"}}, "runs in a ring: '.' → '.' → '.' → '.'"),
        ({"parents": [-1, 9]}, "parent of label 1 must be a node from 0 to 1, or -1 for the top; got 9"),
        ({"parents": [-2, -1]}, "or -1 for the top; got -2"),
        ({}, "either path, a file, or parents, a hierarchy; got neither"),
        ({"path": "x", "parents": [-1, -1]}, "got both"),
        ({"path": "no-such-file.tsv"}, "no-such-file.tsv: the hierarchy cannot be read"),
        ({"parents": {"": "a"}}, "needs a name"),
    ],
)
def test_what_is_refused(params, message):
    with pytest.raises(xt.XtrellisError, match=message):
        build(2, **params)


def test_a_node_has_one_parent(tmp_path):
    file = tmp_path / "h.tsv"
    file.write_text("0\ta\n1\ta\na\tb\na\tc\n")
    with pytest.raises(xt.InputError, match="'a' has children and lies below 'b' and 'c'"):
        build(2, path=str(file))


def test_a_damaged_file_is_refused_with_its_line(tmp_path):
    file = tmp_path / "h.tsv"
    file.write_text("0\ta\n1 a\n")
    with pytest.raises(xt.DataError, match=r"h.tsv, line 2: must be child<TAB>parent"):
        build(2, path=str(file))
    file.write_bytes(b"\xff\xfe0\ta\n")
    with pytest.raises(xt.DataError, match="cannot be read"):
        build(2, path=str(file))


@pytest.mark.parametrize("parents", ["a", [1.5], [True], {"a": 1.5}, np.ones((2, 2), int), np.ones(2), 7])
def test_wrong_kinds_of_parents(parents):
    with pytest.raises(xt.ParameterError, match="parents must be a mapping"):
        GivenTree(parents=parents)


def test_names_decide_where_they_are_known():
    index = GivenTree(parents={"pear": "fruit", "apple": "fruit", "2": "bird", "crow": "bird"})
    assert nested(index.build(space(4, ["pear", "crow", "apple", "2"]), seed=0)) == [[0, 2], [1, 3]]
    with pytest.raises(xt.InputError, match="lacks 1 of 4 labels: label 'owl'"):
        index.build(space(4, ["pear", "crow", "apple", "owl"]), seed=0)
    with pytest.raises(xt.InputError, match="label_names must be 4 names, one for each label; got 1"):
        space(4, ["pear"])


def test_names_given_to_a_model():
    edges = {"pear": "fruit", "apple": "fruit", "2": "bird", "crow": "bird"}
    X, Y = np.eye(4), np.eye(4)
    model = xt.LinearTree(index=GivenTree(parents=edges))
    assert nested(model.fit(X, Y, label_names=["pear", "crow", "apple", "2"]).tree) == [[0, 2], [1, 3]]
    assert nested(model.fit(X, Y, label_names=["2", "crow", "apple", "pear"]).tree) == [[2, 3], [0, 1]]
    with pytest.raises(
        xt.InputError, match="names 3 labels, such as 'pear', but the 4 labels of this training have no"
    ):
        model.fit(X, Y)  # "2" is label 2
    assert nested(model.tree) == [[2, 3], [0, 1]]  # what was learned before stays


def test_names_that_nobody_knows_are_told_with_the_cure(tmp_path):
    file = tmp_path / "h.tsv"
    file.write_text("pear\tfruit\napple\tfruit\ncrow\tbird\n")
    cure = r"such as 'pear', .* give them with fit\(…, label_names=\[…\]\), train a Tagger, or write labels as numbers"
    for index in (GivenTree(path=str(file)), GivenTree(path=str(file), missing="root")):
        with pytest.raises(xt.InputError, match=cure):
            xt.LinearTree(index=index).fit(np.eye(3), np.eye(3))
        with pytest.raises(xt.InputError, match=cure):
            xt.LinearTree(index=index).estimate(np.eye(3), np.eye(3))
        xt.LinearTree(index=index).fit(np.eye(3), np.eye(3), label_names=["apple", "pear", "crow"])
    # Groups that end in nothing are left out where labels are numbers; so is a part of a large hierarchy.
    assert build(3, parents={0: "a", 1: "a", "x": "a"}, missing="root") == [[0, 1], 2]


def test_parents_cannot_be_typed():
    with pytest.raises(xt.ParameterError, match="parents must be"):
        GivenTree().set_from_text("parents", "[1, 2]")


def test_a_large_hierarchy():
    n = 60_000
    parents = np.concatenate([n + np.arange(n) // 10, np.full(n // 10, -1)])
    tree = GivenTree(parents=parents).build(space(n), seed=0)
    assert tree.n_nodes == n // 10 + 1
    assert tree.depth == 2


@pytest.mark.parametrize(
    "parents", [[60 + i // 8 for i in range(60)] + [-1] * 8, {str(i): f"g{i // 8}" for i in range(60)}]
)
def test_in_a_model(parents, tmp_path):
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 60)) < 3 / 60).astype(np.float32)
    X = sp.csr_array(((Y @ rng.random((60, 40))) * (rng.random((300, 40)) < 0.5)).astype(np.float32))
    model = xt.LinearTree(index=GivenTree(parents=parents), seed=0).fit(X, Y)
    assert model.tree.n_nodes == 9
    assert xt.evaluate(sp.csr_array(Y), model.predict(X, k=1), metrics=["P@1"])["P@1"] > 50
    assert model.clone() == model
    model.save(tmp_path / "model")
    again = xt.load(tmp_path / "model")
    assert again == model
    assert again.tree == model.tree
    np.testing.assert_array_equal(again.predict(X).labels, model.predict(X).labels)
    assert again.clone().fit(X, Y).tree == model.tree
    assert xt.preset("bonsai", index=GivenTree(parents=parents)).fit(X, Y).tree == model.tree
