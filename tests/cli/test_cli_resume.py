"""`xtrellis train --resume`: what was done is not done again, and the model is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_world import Run

import xtrellis
from xtrellis.linear import fitting, training


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def stop(*args: Any, **kwargs: Any) -> None:
    raise KeyboardInterrupt


class NothingToTrain:
    def train(self, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("trained again")

    route = train


@pytest.mark.parametrize("refit", [False, True])
def test_a_stopped_training_goes_on(run: Run, train_file: Path, tmp_path: Path, refit: bool) -> None:
    how = ["--set", "index.max_leaf=4", *(["--refit"] if refit else [])]
    assert run("train", train_file, "--to", tmp_path / "whole", *how).code == 0
    to = tmp_path / "m"
    packs = [fitting.PackedTree.join] * refit  # with --refit, the second training is the one that stops
    with pytest.MonkeyPatch.context() as patch:
        pack = lambda *args, **kwargs: packs.pop()(*args, **kwargs) if packs else stop()  # noqa: E731
        patch.setattr("xtrellis.linear.fitting.PackedTree.join", pack)
        code, _, _ = run("train", train_file, "--to", to, *how)
    assert code == 130
    folder = tmp_path / ("m.refit-checkpoint" if refit else "m.checkpoint")
    assert (folder / "checkpoint.json").exists()
    assert not to.exists()
    with pytest.MonkeyPatch.context() as patch:
        if not refit:
            patch.setattr(training, "native", NothingToTrain())
        code, _, err = run("train", train_file, "--to", to, *how, "--resume")
    assert code == 0, err
    assert f"going on from {folder}" in err
    assert contents(to) == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_without_the_option_a_training_starts_anew(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xtrellis.linear.fitting.PackedTree.join", stop)
        assert run("train", train_file, "--to", to).code == 130
    assert run("train", train_file, "--to", to, "--resume", "--set", "cost=3").code == 2, "another training"
    code, _, err = run("train", train_file, "--to", to, "--set", "cost=3")
    assert code == 0, err
    assert "m.checkpoint of a training that was stopped" in err
    code, _, err = run("train", train_file, "--to", to, "--resume")
    assert code == 0
    assert "to go on from; starting anew" in err
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_model_that_cannot_go_on_says_so(run: Run, train_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xtrellis.LinearTree, "fit", lambda self, X, Y: self)
    code, _, err = run("train", train_file, "--to", "m", "--resume")
    assert code == 2
    assert "cannot go on from a stopped training" in err


def test_the_estimate_is_shown_before_training(run: Run, train_file: Path, tmp_path: Path) -> None:
    _, _, err = run("train", train_file, "--to", tmp_path / "m", "--set", "memory_limit=2GB")
    assert 0 < err.index("expected: ") < err.index("memory_limit: at most") < err.index("training classifiers")
    code, _, err = run("train", train_file, "--to", tmp_path / "m", "--set", "memory_limit=1kB", "-q")
    assert code == 2
    assert "memory_limit is 1.0 kB, but this training needs about" in err
