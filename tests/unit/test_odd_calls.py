"""Calls that nobody should make, one of each kind that an attack has found: each is refused in one short sentence."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import as_path

X, Y = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)
DATA = xt.Dataset(sp.csr_array(X), sp.csr_array(Y), label_names=list("abcd"))  # type: ignore[arg-type]
TOP = xt.TopK(np.array([[0, 1]], np.int32), np.array([[1, 0.5]], np.float32), 4)
NO_PATHS: list[Any] = [5, None, 1.5, b"x", [], object(), "a\0b", "\ud800", "a" * 5000, "b/" * 2500, 10**5000]
NO_LISTS: list[Any] = [0, np.array(3), np.eye(2), sp.csr_array(X), memoryview(X), b"ab", "ab", int, ...]


class Other(np.ndarray):
    """A subclass of arrays, such as np.matrix."""


def refused(call: Callable[[], object], match: str = ".") -> None:
    with pytest.raises(xt.XtrellisError, match=match) as caught:
        call()
    assert 0 < len(str(caught.value)) < 1500


@pytest.fixture(scope="module")
def tree() -> xt.LinearTree:
    return xt.LinearTree(threads=1).fit(X, Y)


@pytest.mark.parametrize("path", NO_PATHS, ids=lambda path: type(path).__name__)
def test_what_is_no_path(path: Any, tree: xt.LinearTree) -> None:
    for call in (xt.read, xt.load, xt.import_pecos, xt.data.find_format, xt.store.discard, tree.save):
        refused(lambda call=call: call(path), "path must be|cannot be opened")
    refused(lambda: xt.write(DATA, path), "path must be|cannot be opened")
    if path is not None:
        refused(lambda: xt.LinearTree().fit(X, Y, checkpoint=path), "checkpoint must be a path|cannot be opened")


def test_what_is_a_path(tmp_path: Path) -> None:
    assert as_path(str(tmp_path)) == as_path(tmp_path) == tmp_path
    assert as_path("é" * 127).name == "é" * 127  # 254 bytes


@pytest.mark.parametrize("wrong", [None, 0, "x", [], X, int, object()], ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_dataset(wrong: Any, tmp_path: Path) -> None:
    tagger = xt.Tagger.of_model(xt.LinearTree(threads=1).fit(X, Y))
    for call in (
        lambda: xt.write(wrong, tmp_path / "a.txt"),
        lambda: xt.data.describe(wrong),
        lambda: xt.data.align(wrong, DATA.label_names),  # type: ignore[arg-type]
        lambda: xt.entangle(wrong),
        lambda: xt.fuse(wrong, np.arange(4)),
        lambda: tagger.evaluate(wrong),
    ):
        refused(call, "dataset must be an xt.Dataset; got")


@pytest.mark.parametrize("wrong", NO_LISTS, ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_list(wrong: Any) -> None:
    fresh = xt.Tagger(xt.Vectorizer(), xt.LinearTree(threads=1))
    refused(lambda: xt.Vectorizer().fit(wrong), "texts must be a list of strings")
    refused(lambda: fresh.fit(wrong, [["a"]]), "texts must be a list of strings")
    refused(lambda: fresh.fit(["a b", "b c"], wrong), "labels must be one list of names for each text")
    refused(lambda: fresh.fit(["a b"], [wrong]), r"labels\[0\] must be a list of names")
    refused(lambda: xt.LinearTree().fit(X, Y, label_names=wrong), "a list of strings is needed")
    refused(lambda: xt.data.align(DATA, wrong), "a list of strings is needed")
    if not isinstance(wrong, str):
        refused(lambda: xt.evaluate(Y, TOP, wrong), "metrics must be a list of names")


def test_names_that_have_no_hash() -> None:
    fresh = xt.Tagger(xt.Vectorizer(), xt.LinearTree(threads=1))
    refused(lambda: fresh.fit(["a b"], [[["a"]]]), r"labels\[0\] must hold names; got list \['a'\]")


@pytest.mark.parametrize("name", ["indices", "indptr"])
@pytest.mark.parametrize("value", [-1, 4, 2**31 - 2])
def test_training_data_made_by_hand_is_checked(name: str, value: int) -> None:
    """Whoever makes a TrainingData gets the same checks as whoever calls `fit(X, Y)`."""
    for kind in (sp.csr_array, sp.csc_array, sp.bsr_array):
        broken = kind(X, blocksize=(1, 1)) if kind is sp.bsr_array else kind(X)
        getattr(broken, name)[1 if name == "indices" else 2] = value if name == "indices" else value + 1
        for arguments in ((broken, Y), (X, broken)):
            refused(lambda a=arguments: xt.TrainingData(*a), "is not a valid .* matrix")


@pytest.mark.parametrize("wrong", [1, "x", None, X[0], X[None], X.astype(str), np.full((4, 4), np.nan), X[:3]])
def test_training_data_of_anything(wrong: Any) -> None:
    for arguments in ((wrong, Y), (X, wrong)):
        refused(lambda a=arguments: xt.LinearTree().fit(xt.TrainingData(*a)))
    made = xt.TrainingData(sp.coo_array(X), X.tolist(), label_names=list("abcd"))  # type: ignore[arg-type]
    part = made.select([2, 0])
    assert (made.X.indptr.dtype, part.n_rows, part.label_counts.tolist()) == (np.int64, 2, [1, 0, 1, 0])
    assert made.label_counts.tolist() == [1, 1, 1, 1]


NO_INTEGERS: list[Any] = [1, "12", {}, None, 1j, [0.5], [[1], [2, 3]], X, sp.csr_array(X), [2**63], [None], slice(3)]


@pytest.mark.parametrize("wrong", NO_INTEGERS, ids=lambda wrong: type(wrong).__name__)
def test_trees_of_what_is_no_list_of_integers(wrong: Any) -> None:
    offsets, children = np.array([0, 2, 4]), np.array([1, ~0, ~1, ~2])
    assert xt.LabelTree(offsets, children, 3).depth == 2
    refused(lambda: xt.LabelTree(wrong, children, 3), "a tree's offsets must be a list of integers")
    refused(lambda: xt.LabelTree(offsets, wrong, 3), "a tree's children must be a list of integers")
    for name in ("node_parents", "labels", "label_parents"):
        given: dict[str, Any] = {"node_parents": [-1, 0], "labels": [0, 1, 2], "label_parents": [0, 1, 1], name: wrong}
        refused(lambda g=given: xt.LabelTree.from_parents(**g, n_labels=3), f"{name} must be")
    refused(lambda: xt.fuse(DATA, wrong), "fused must be the new number of each label")


def test_trees_that_do_not_fit() -> None:
    refused(lambda: xt.LabelTree([0, 1], [~0], "1"), "n_labels must be an integer")  # type: ignore[arg-type]
    refused(lambda: xt.LabelTree.from_parents([-1], [0, 1], [0], 2), "2 labels and 1 parents")
    refused(lambda: xt.LabelTree.from_parents([-1], [-1], [0], 1), "labels must be numbers from 0; got -1")
    refused(lambda: xt.fuse(DATA, np.array([0, 1, 2, -1])), "numbered from 0 to at most 3; got -1")
    refused(lambda: xt.fuse(DATA, np.array([0, 1, 2, 2**40])), "numbered from 0 to at most 3; got 1099511627776")


@pytest.mark.parametrize("wrong", ["", 1j, None, X, [["a"], None], sp.csr_array(X), np.array(["2020"], "M8[s]"), {}])
def test_what_is_no_list_of_numbers(wrong: Any) -> None:
    if wrong is not None:
        refused(lambda: xt.evaluate(Y[:1], TOP, "depth@1", depth=wrong), "depth must be one number for each")
        refused(lambda: xt.evaluate(Y[:1], TOP, "PSP@1", weights=wrong), "weights must be one number for each")
        refused(lambda: xt.concatenate_features(X, weights=wrong), "weights must be one finite number")
    refused(lambda: xt.metrics.bootstrap(wrong), "values must be one number per row")
    refused(lambda: xt.choose_tradeoff(xt.LinearTree(index=xt.InterpolatedTree()), X, Y, tradeoffs=wrong))
    assert xt.evaluate(Y[:1], TOP, "P@1", depth=wrong, weights=wrong)["P@1"] == 100  # nobody looks at them


def test_lists_of_labels_and_scores_that_are_none() -> None:
    labels, scores = TOP.labels, TOP.scores
    refused(lambda: xt.TopK(labels.astype(float), scores, 4), "integer labels")  # type: ignore[arg-type]
    refused(lambda: xt.TopK(labels, scores.astype(str), 4), "scores that are real numbers")  # type: ignore[arg-type]
    for wrong in (-1, "4", None, 4.0, [4], 2**40):
        refused(lambda w=wrong: xt.TopK(labels, scores, w), "n_labels must be an integer")  # type: ignore[arg-type]
    for matrix in (sp.csc_array(labels), np.ma.masked_array(labels), memoryview(labels)):
        refused(lambda m=matrix: xt.TopK(m, scores, 4), "must be NumPy arrays")  # type: ignore[arg-type]
    plain = xt.TopK(labels.view(Other), scores.view(Other), 4)
    assert type(plain.labels) is type(plain.scores) is np.ndarray
    assert list(plain) == list(TOP)


def test_other_arguments(tree: xt.LinearTree) -> None:
    tagger = xt.Tagger.of_model(tree)
    odd: Any
    for odd in (1, [1.5], range(4), None, object(), "x" * 10**5, "e" + "\u0301" * 3000):
        refused(lambda o=odd: xt.preset(o), "preset")
        refused(lambda o=odd: xt.datasets.load(o), "data set")
        refused(lambda o=odd: xt.LinearTree().set_from_text(str(o), "1"), "no parameter")
    for odd in (1, (), "Tagger", int, [xt.Tagger]):
        refused(lambda o=odd: xt.load("x", kind=o), "kind must be a class of models")
        refused(lambda o=odd: tagger.named(o), "top must be a TopK")
    for odd in (X, "yes", 1, None):
        refused(lambda o=odd: xt.load("x", verify=o), "verify must be True or False")
        refused(lambda o=odd: xt.concatenate_features(X, unit=o), "unit must be True or False")
        refused(lambda o=odd: xt.evaluate(Y[:1], TOP, "P@1", skip_empty=o), "skip_empty must be True or False")
    for odd in ({}, "x", 2**31, -1, 1.5, None):
        refused(lambda o=odd: tagger.inverse_propensity(extra=o), "extra must be an integer")
        refused(lambda o=odd: xt.data.split_rows(o), "n_rows must be an integer")
    for odd in ((), "0", 1.0, X):
        refused(lambda o=odd: DATA.labels_of(o), "row must be an integer")
    for odd in (1, [{}], "no such"):
        refused(lambda o=odd: xt.import_pecos("x", transform=o), "transform must be one of")
    refused(lambda: tagger.named(xt.TopK(TOP.labels, TOP.scores, 99)), "of 99 labels; this tagger knows 4")
    refused(lambda: xt.choose_tradeoff(3, X, Y), "model must be a model")  # type: ignore[arg-type]


def test_numbers_of_other_kinds_are_numbers() -> None:
    """A fraction, or a small NumPy integer, is as good a parameter as a float or an int."""
    model = xt.LinearTree(tolerance=Fraction(1, 10**9), max_epochs=1, threads=1).fit(X, Y)  # type: ignore[arg-type]
    assert (model.predict(X, k=1).labels[:, 0] == np.arange(4)).all()


def test_a_ranker_over_two_billion_columns() -> None:
    """Kernels keep an array as long as the feature space; of so many columns none may be made."""
    rng = np.random.default_rng(0)
    rows = rng.random((30, 6)).astype(np.float32)
    wide = sp.csr_array((rows.ravel(), np.tile([0, 5, 10**6, 2**30, 2**31 - 5, 2**31 - 2], 30), np.arange(31) * 6),
                        shape=(30, 2**31 - 1))  # fmt: skip
    labels = sp.csr_array((np.ones(30), (np.arange(30), np.arange(30) % 5)), shape=(30, 5))
    how: dict[str, Any] = {"calibrate": False, "threads": 1}
    found = xt.Reranked(base=xt.LinearTree(), **how).fit(wide, labels).predict(wide, k=2)
    assert np.isfinite(found.scores).all()
    assert (np.sort(found.labels, axis=1)[:, 0] >= 0).all()


def test_more_columns_than_memory() -> None:
    """A vector for each of two thousand million features is no mistake, but there is no room for it."""
    wide = sp.csr_array((np.ones(4, np.float32), [0, 5, 2**30, 2**31 - 2], range(5)), shape=(4, 2**31 - 1))
    refused(lambda: xt.SoftmaxTree(dim=4096, threads=1).fit(wide, Y), "too little memory to train a SoftmaxTree")
    for labels in (wide, sp.csr_array((4, 2**31 - 1), dtype=np.float32)):
        refused(lambda y=labels: xt.LinearTree().fit(X, y), "would take 17 GB; leave out labels that no row has")


@pytest.mark.parametrize("kind", ["P", "nDCG", "R", "coverage", "PSP", "PSnDCG", "PSnDCG-ratio", "depth"])
def test_a_cut_off_far_beyond_what_is_predicted(kind: str) -> None:
    labels = np.array([[1, 0, -1], [2, 3, 0], [3, -1, -1], [0, 1, 2]], np.int32)
    top, many = xt.TopK(labels, np.ones((4, 3), np.float32), 4), np.triu(np.ones((4, 4)))
    names, more = [f"{kind}@{k}" for k in (4, 9, 999_999_999)], {"train_labels": Y, "depth": np.arange(4)}
    found = xt.evaluate(many, top, names, **more)
    four, nine, all_of_them = (found[name] for name in names)
    if kind == "P":
        assert (nine * 9 / 4, all_of_them * 999_999_999 / 4) == pytest.approx((four, four))
    else:
        assert four == nine == all_of_them
    if kind != "coverage":
        assert xt.metrics.per_row(many, top, names[2], **more).mean() == pytest.approx(all_of_them)


def test_a_model_whose_parts_have_got_parameters_since_can_be_saved_again(tmp_path: Path) -> None:
    """Stored before a part had some parameter, it was trained with that parameter's default."""
    import json

    xt.Ensemble(models=[xt.LinearTree(threads=1)]).fit(X, Y).save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    manifest = json.loads(path.read_text())
    manifest.pop("sha256", None)
    del manifest["model"]["params"]["models"][0]["params"]["beam"]
    path.write_text(json.dumps(manifest))
    again = xt.load(tmp_path / "m")
    again.save(tmp_path / "n")
    assert np.array_equal(xt.load(tmp_path / "n").predict(X).labels, again.predict(X).labels)
