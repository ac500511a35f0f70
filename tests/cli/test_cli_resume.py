"""`xtrellis train --resume`: what was done is not done again, and the model is the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from cli_world import Run

from xtrellis import Tagger
from xtrellis.linear import fit as fitting
from xtrellis.linear import remote as training
from xtrellis.neural.elias.task import EliasTask
from xtrellis.neural.glas.task import GlasTask
from xtrellis.neural.xtransformer import MatcherTask
from xtrellis.rank import Ranker


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
    how = ["--set", "index.max_leaf=4", "--refit" if refit else "--no-refit"]
    assert run("train", train_file, "--to", tmp_path / "whole", *how).code == 0
    to = tmp_path / "m"
    packs = [fitting.PackedTree.join] * refit  # with --refit, the second training is the one that stops
    with pytest.MonkeyPatch.context() as patch:
        pack = lambda *args, **kwargs: packs.pop()(*args, **kwargs) if packs else stop()  # noqa: E731
        patch.setattr("xtrellis.linear.fit.PackedTree.join", pack)
        said, write = [], os.write
        patch.setattr(os, "write", lambda fd, data: said.append(data) or len(data) if fd == 2 else write(fd, data))
        code, _, err = run("train", train_file, "--to", to, *how)
    assert code == 130
    folder = tmp_path / ("m.refit-checkpoint" if refit else "m.checkpoint")
    assert (folder / "checkpoint.json").exists()
    assert f"what was done is in {folder}: the same command with --resume goes on from there\n" in said[0].decode()
    assert not to.exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "native", NothingToTrain())  # with --refit, the first is kept as well
        code, _, err = run("train", train_file, "--to", to, *how, "--resume")
    assert code == 0, err
    assert f"going on from {folder}" in err
    assert contents(to) == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_without_the_option_a_training_starts_anew(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xtrellis.linear.fit.PackedTree.join", stop)
        assert run("train", train_file, "--to", to).code == 130
    assert run("train", train_file, "--to", to, "--resume", "--set", "cost=3").code == 2, "another training"
    code, _, err = run("train", train_file, "--to", to, "--set", "cost=3")
    assert code == 0, err
    assert "m.checkpoint of a training that was stopped" in err
    code, _, err = run("train", train_file, "--to", to, "--resume")
    assert code == 0
    assert "to go on from; starting anew" in err
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_model_that_cannot_go_on_says_so(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    code, out, err = run("train", train_file, "--to", to, "--resume", "--preset", "softmax-tree")
    assert (code, out) == (2, "")
    assert err == "error: --resume: SoftmaxTree cannot go on from a stopped training; start it anew\n"
    assert not list(tmp_path.iterdir())


BAG = ["--set", "encoder.dim=8", "--set", "epochs=2", "--set", "n_clusters=2"]
AFTER_FIT = {  # preset: settings that make it quick
    "xr-linear": ["--set", "index.max_leaf=4"],
    "parabel++": ["--set", "base.index.max_leaf=4"],
    "xr-linear,parabel": ["--set", "models.0.index.max_leaf=4"],
    "glas": ["--set", "dim=8", "--set", "epochs=2"],
    "elias": BAG,
    "x-transformer": BAG,
}


def nothing_to_train(patch: pytest.MonkeyPatch) -> None:
    """Whatever trains anything fails."""
    patch.setattr(training, "native", NothingToTrain())
    for owner, name in ((GlasTask, "epoch"), (EliasTask, "epoch"), (MatcherTask, "epoch"), (Ranker, "train")):
        patch.setattr(owner, name, NothingToTrain.train)


def no_memory(*args: Any, **kwargs: Any) -> None:
    raise MemoryError("for measuring")


def test_nothing_to_train_catches_a_training(run: Run, train_file: Path, tmp_path: Path) -> None:
    for preset, settings in AFTER_FIT.items():
        with pytest.MonkeyPatch.context() as patch:
            nothing_to_train(patch)
            code, _, err = run("train", train_file, "--to", tmp_path / "m", "--preset", preset, *settings, "-q")
        assert code == 1
        assert "AssertionError: trained again" in err


@pytest.mark.parametrize("preset", AFTER_FIT)
def test_a_training_whose_measuring_fails_is_not_lost(run: Run, train_file: Path, tmp_path: Path, preset: str) -> None:
    how = ["--preset", preset, *AFTER_FIT[preset], "--no-refit"]
    assert run("train", train_file, "--to", tmp_path / "whole", *how).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["whole"], "saved: there is nothing to go on from"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tagger, "evaluate", no_memory)
        code, out, err = run("train", train_file, "--to", tmp_path / "m", *how)
    assert (code, out) == (1, "")
    assert err.endswith("error: not enough memory (for measuring)\n")
    assert (tmp_path / "m.checkpoint" / "checkpoint.json").is_file()
    assert not (tmp_path / "m").exists()
    with pytest.MonkeyPatch.context() as patch:
        nothing_to_train(patch)
        code, out, err = run("train", train_file, "--to", tmp_path / "m", *how, "--resume")
    assert code == 0, err
    assert f"going on from {tmp_path / 'm.checkpoint'}" in err
    assert "rows it has not seen" in out
    assert contents(tmp_path / "m") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_measuring_that_fails_before_a_refit(run: Run, train_file: Path, tmp_path: Path) -> None:
    how = ["--set", "index.max_leaf=4", "--refit"]
    assert run("train", train_file, "--to", tmp_path / "whole", *how).code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tagger, "evaluate", no_memory)
        assert run("train", train_file, "--to", tmp_path / "m", *how).code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.checkpoint", "whole"]
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *how, "--resume")
    assert code == 0, err
    assert f"there is no {tmp_path / 'm.refit-checkpoint'} to go on from" in err
    assert contents(tmp_path / "m") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


@pytest.mark.parametrize("refit", [False, True])
def test_a_model_that_cannot_be_written_is_not_lost(run: Run, train_file: Path, tmp_path: Path, refit: bool) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device", "big.file")

    how = ["--set", "index.max_leaf=4", "--refit" if refit else "--no-refit"]
    assert run("train", train_file, "--to", tmp_path / "whole", *how).code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xtrellis.tagger.tagger.save", full)
        code, _, err = run("train", train_file, "--to", tmp_path / "m", *how)
    assert code == 2
    assert err.endswith("error: big.file: no space left on device\n")
    left = ["m.checkpoint", *(["m.refit-checkpoint"] if refit else []), "whole"]
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    with pytest.MonkeyPatch.context() as patch:
        nothing_to_train(patch)
        code, _, err = run("train", train_file, "--to", tmp_path / "m", *how, "--resume")
    assert code == 0, err
    assert contents(tmp_path / "m") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_the_estimate_is_shown_before_training(run: Run, train_file: Path, tmp_path: Path) -> None:
    _, _, err = run("train", train_file, "--to", tmp_path / "m", "--set", "memory_limit=2GB")
    assert 0 < err.index("expected: ") < err.index("memory_limit: at most") < err.index("training classifiers")
    code, _, err = run("train", train_file, "--to", tmp_path / "m", "--set", "memory_limit=1kB", "-q")
    assert code == 2
    assert "memory_limit is 1.0 kB, but this training needs about" in err
