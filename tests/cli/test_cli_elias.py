"""The preset `elias` from the command line: training, going on between its stages, learning curves, explanations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import Run

from xtrellis.neural.elias.task import EliasTask

SMALL = ["--preset", "elias", "--set", "encoder.dim=16", "--set", "epochs=4", "--set", "n_clusters=2"]


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
    assert 0 < err.index("expected: memory about ") < err.index("epoch 3: ")
    read = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("m", "whole")]
    assert read[0] == read[1]
    _explains(run, tmp_path / "m")
    plot = tmp_path / "curves.svg"
    assert run("inspect", tmp_path / "m", "--plot", plot).code == 0
    assert "train" in plot.read_text()


def _explains(run: Run, model: Path) -> None:
    code, out, err = run("tag", model, "violin piano concert apple", "-k", "1", "--explain")
    assert (code, err) == (0, "")
    assert "music  number 1 of 36 labels found" in out
    assert "of the edge to it" in out
    assert "violin +" in out.split("of the edge to it")[1]
    code, out, _ = run("tag", model, "violin piano concert apple", "-k", "1", "--explain", "--json")
    (tag,) = json.loads(out)["tags"]
    assert tag["explanation"]["score"] == pytest.approx(tag["score"], rel=1e-5)
    words = {word["text"]: word["push"] for word in tag["explanation"]["words"]}
    assert words["violin"] > words["apple"]
