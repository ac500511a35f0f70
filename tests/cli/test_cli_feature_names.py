"""Features by name: the numbers of two files mean the same only if their names do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_world import Run

import xtrellis as xt


@pytest.fixture(scope="module")
def data() -> xt.Dataset:
    made = xt.synthetic(n_rows=200, n_labels=12, n_features=60, seed=0)
    names = [f"word{i}" for i in range(60)]
    labels = [f"label{i}" for i in range(12)]
    return xt.Dataset(made.X, made.Y, label_names=labels, feature_names=names)


def swapped(data: xt.Dataset) -> xt.Dataset:
    return xt.Dataset(data.X, data.Y, label_names=data.label_names, feature_names=[*data.feature_names][::-1])


def test_a_tagger_refuses_other_features(data: xt.Dataset, tmp_path: Path) -> None:
    tagger = xt.Tagger(None, xt.preset("one-vs-all")).fit(data)
    tagger.save(tmp_path / "m")
    for known in (tagger, xt.load(tmp_path / "m")):
        before = known.predict(data, 3)
        with pytest.raises(xt.InputError, match=r"features.txt.*have other names, or another order"):
            known.predict(swapped(data), 3)
        with pytest.raises(xt.InputError, match=r"features.txt.*have other names, or another order"):
            known.evaluate(swapped(data), ["P@1"])
        bare = xt.Dataset(data.X, data.Y, label_names=data.label_names)
        assert np.array_equal(known.predict(bare, 3).labels, before.labels)
        assert np.array_equal(known.predict(data.X, 3).labels, before.labels)
    unnamed = xt.Tagger(None, xt.preset("one-vs-all")).fit(bare)
    assert len(unnamed.predict(swapped(data), 3)) == 200


def test_svmlight_has_as_many_features_as_the_model(run: Run, data: xt.Dataset, tmp_path: Path) -> None:
    xt.write(data, tmp_path / "d.svm", index_base=1)
    narrow = data.select([row for row in range(200) if data.X[[row]].indices.max() < 50][:3])
    xt.write(narrow, tmp_path / "few.svm", index_base=1)
    model, how = tmp_path / "m", ["--read", "index_base=1", "-q"]
    assert run("train", tmp_path / "d.svm", "--to", model, *how).code == 0
    for command in (["evaluate", model], ["compare", model, model], ["predict", model]):
        code, _, err = run(*command, tmp_path / "few.svm", *how)
        assert code == 0, err


def test_the_command_line_does_too(run: Run, data: xt.Dataset, tmp_path: Path) -> None:
    xt.write(data, tmp_path / "a" / "d.txt")
    xt.write(swapped(data), tmp_path / "b" / "d.txt")
    one, other = tmp_path / "a" / "d.txt", tmp_path / "b" / "d.txt"
    model = tmp_path / "m"
    code, _, err = run("train", one, "--test", other, "--to", model, "-q")
    assert (code, "have other names, or another order" in err, model.exists()) == (2, True, False)
    assert run("train", one, "--to", model, "--preset", "one-vs-all", "-q").code == 0
    for command in (["evaluate", model], ["predict", model], ["compare", model, model]):
        assert run(*command, one, "-q").code == 0
        code, _, err = run(*command, other, "-q")
        assert (code, "have other names, or another order" in err) == (2, True)
    code, _, err = run("train", one, other, "--to", model, "-q")
    assert (code, "number them alike before they are joined" in err) == (2, True)
