"""The examples of CONTRIBUTING.md run, in order, and what they add is really used."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import xtrellis as xt
from xtrellis.arrays import as_features
from xtrellis.neural import Inputs
from xtrellis.store import registry

pytest.importorskip("torch")
PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory):
    """Everything that the page defines, as a module; what it prints is looked at as well."""
    from xtrellis.neural.ova.task import LOSSES

    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path_factory.mktemp("contributing"))
    module = ModuleType("contributing")
    patch.setitem(sys.modules, "contributing", module)
    patch.setattr(registry, "_registered", {})
    patch.delitem(LOSSES, "hinge", raising=False)  # so that it is taken out again in the end
    text = PAGE.read_text(encoding="utf-8")
    module.printed = []
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text[: found.start()].count("\n") + 1
        module.print = lambda *told: module.printed.append(told)
        exec(compile("\n" * line + found[1], PAGE, "exec"), vars(module))
    yield module
    LOSSES.pop("hinge", None)
    patch.undo()


def precision(page, model) -> float:
    return xt.evaluate(page.data.Y, model.predict(page.data.X, k=5), "P@1")["P@1"]


def test_every_example_learns(page):
    """Better than the most frequent label for all rows, by far."""
    popular = 100 * np.asarray(page.data.Y.sum(axis=0)).max() / page.data.n_rows
    reports = [told for line in page.printed for told in line if isinstance(told, xt.Report)]
    assert len(reports) == 5
    assert min(report["P@1"] for report in reports) > popular + 25


def test_the_index_builder_placed_the_labels(page):
    tree = page.alphabetic.tree
    leaves = [sorted(page.names[label] for label in tree.labels_below(node)) for node in range(1, tree.n_nodes)]
    assert tree.n_nodes == 1 + page.data.n_labels // 8
    assert [name for leaf in leaves for name in leaf] == sorted(page.names)


def test_a_model_with_the_index_builder_comes_back(page, tmp_path):
    page.alphabetic.save(tmp_path / "model")
    loaded = xt.load(tmp_path / "model")
    assert loaded.index == page.AlphabeticTree(max_leaf=8)
    assert loaded.tree == page.alphabetic.tree
    with pytest.raises(xt.ParameterError, match="max_leaf must be an integer ≥ 1"):
        page.AlphabeticTree(max_leaf=0)


def test_the_loss_was_minimised(page):
    losses = [epoch["loss"] for epoch in page.hinged.curves]
    assert losses == sorted(losses, reverse=True)
    plain = xt.XTransformer(encoder=xt.BagEncoder(dim=16), epochs=1, loss="logistic").fit(page.data.X, page.data.Y)
    assert page.hinged.loss == "hinge"
    assert plain.curves[0]["loss"] != pytest.approx(losses[0])
    with pytest.raises(xt.ParameterError, match="loss must be one of"):
        xt.XTransformer(loss="hinge")


def test_the_gradient_of_the_loss_is_right(page):
    import torch

    scores = torch.linspace(-2.05, 2.05, 12).reshape(3, 4).requires_grad_()
    rows, columns = torch.tensor([0, 2]), torch.tensor([1, 3])
    total, gradient = page.hinge(torch, scores, rows, columns)
    (expected,) = torch.autograd.grad(total, [scores])
    assert torch.allclose(gradient.float(), expected.float())


def test_the_encoder_made_the_vectors_and_was_trained(page, tmp_path):
    model, X = page.projected, page.data.X
    weights = {name.removeprefix("encoder."): w for name, w in model.to_state().arrays.items()}
    # What `embed` gives is what the class in the page computes.
    expected = page.ProjectionEncoder(dim=32).encode(weights, Inputs(X=as_features(X)), threads=1, device="cpu")
    np.testing.assert_array_equal(model.embed(X), expected)
    assert not np.allclose(weights["mix"], np.eye(32))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(xt.load(tmp_path / "model").predict(X).labels, model.predict(X).labels)


def test_the_encoder_gives_the_same_for_any_number_of_threads(page):
    X, Y = page.data.X, page.data.Y
    one, two = (
        xt.EncoderOvA(encoder=page.ProjectionEncoder(dim=8), epochs=2, threads=threads).fit(X, Y).embed(X)
        for threads in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_the_model_keeps_the_contract(page, tmp_path):
    model, data = page.nearest, page.data
    top = model.predict(data.X, k=100)
    assert top.labels.shape == (data.n_rows, data.n_labels)
    assert (np.diff(top.scores, axis=1) <= 0).all()
    assert isinstance(page.again.fitted_base, page.NearestCentroid)
    assert precision(page, page.again) >= precision(page, model)
    with pytest.raises(xt.NotFittedError):
        page.NearestCentroid().predict(data.X)
    with pytest.raises(xt.StoreError, match="has no _to_state"):
        model.save(tmp_path / "model")
    stored = page.StoredCentroid().fit(data.X, data.Y)
    assert stored.estimate(data.X, data.Y).model_bytes == stored._vectors.nbytes
    stored.save(tmp_path / "model")
    np.testing.assert_array_equal(xt.load(tmp_path / "model").predict(data.X, k=5).labels, top.labels[:, :5])


def test_the_model_works_in_a_tagger(page):
    texts, labels = ["red apple", "green pear", "red cherry"] * 3, [["apple"], ["pear"], ["cherry"]] * 3
    tagger = xt.Tagger(xt.Vectorizer(min_df=1), page.NearestCentroid()).fit(texts, labels)
    assert tagger.tag("a pear", k=1)[0].label == "pear"


def test_the_page_names_files_that_exist():
    """Files in the text, by path from the root or from the package."""
    root, text = PAGE.parent, PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.]+/)*[\w]+\.(?:py|hpp|inc|md|yml))`", text))
    missing = [name for name in named if not any((base / name).exists() for base in (root, root / "src/xtrellis"))]
    assert named
    assert not missing


def test_the_page_names_commands_that_exist():
    makefile = (PAGE.parent / "Makefile").read_text(encoding="utf-8")
    asked = re.findall(r"^\| `make ([\w-]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(asked) >= {"demo", "test", "lint", "types", "asan", "docs", "bench"}
    for target in asked:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
