"""The preset `glas` from the command line: training, going on, learning curves."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_world import Run

from xtrellis.neural.glas.task import GlasTask

SMALL = ["--preset", "glas", "--set", "dim=16", "--set", "epochs=6", "--holdout", "0.1"]


def contents(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(path.iterdir())}


def test_train_tag_and_plot(run: Run, train_file: Path, tmp_path: Path, model: Path) -> None:
    to, plot = tmp_path / "m", tmp_path / "curves.svg"
    code, _, err = run("train", train_file, "--to", to, *SMALL, "--set", "holdout=0.2", "--set", "refit=true")
    assert code == 0, err
    assert "epoch 1: loss" in err
    assert "now all rows are trained on" in err
    assert "fruit" in run("tag", to, "apple juice orchard ripe", "-k", "2").out
    code, _, err = run("inspect", to, "--plot", plot)
    assert code == 0, err
    assert "validation" in plot.read_text()
    assert "regularizer" in plot.read_text()
    code, _, err = run("inspect", to, "--plot", tmp_path / "curves.nonsense")
    assert code == 2
    assert "cannot draw to" in err
    code, _, err = run("inspect", model, "--plot", plot)
    assert code == 2
    assert "a LinearTree has none" in err
    code, _, err = run("inspect", train_file, "--plot", plot)
    assert code == 2
    assert "--plot draws learning curves of models" in err


def test_a_stopped_training_goes_on(run: Run, train_file: Path, tmp_path: Path) -> None:
    assert run("train", train_file, "--to", tmp_path / "whole", *SMALL).code == 0
    epoch = GlasTask.epoch

    def stop(self: GlasTask, number: int) -> object:
        if number == 3:
            raise KeyboardInterrupt
        return epoch(self, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GlasTask, "epoch", stop)
        assert run("train", train_file, "--to", tmp_path / "m", *SMALL).code == 130
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *SMALL, "--resume")
    assert code == 0, err
    assert "going on after epoch 3" in err
    assert contents(tmp_path / "m") == contents(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]
