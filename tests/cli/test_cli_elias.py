"""The preset `elias` from the command line: training, going on between its stages, learning curves."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_world import Run

from xtrellis.neural.elias_task import EliasTask

SMALL = ["--preset", "elias", "--set", "encoder.dim=16", "--set", "epochs=4", "--set", "clusters=2"]


def test_a_stopped_training_goes_on(run: Run, train_file: Path, tmp_path: Path) -> None:
    assert run("train", train_file, "--to", tmp_path / "whole", *SMALL).code == 0
    epoch = EliasTask.epoch

    def stop(self: EliasTask, number: int) -> object:
        if number == 2:  # the first of the second stage
            raise KeyboardInterrupt
        return epoch(self, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EliasTask, "epoch", stop)
        assert run("train", train_file, "--to", tmp_path / "m", *SMALL).code == 130
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *SMALL, "--resume")
    assert code == 0, err
    assert "going on after epoch 2" in err
    assert "training takes about" in err
    read = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("m", "whole")]
    assert read[0] == read[1]
    plot = tmp_path / "curves.svg"
    assert run("inspect", tmp_path / "m", "--plot", plot).code == 0
    assert "train" in plot.read_text()
