"""The preset `x-transformer` from the command line: training, going on in its tree, an ensemble of two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_world import Run

import xtrellis as xt
from xtrellis.linear import fit as fitting

SMALL = ["--set", "encoder.dim=16", "--set", "epochs=3", "--set", "n_clusters=2", "--set", "tree.index.max_leaf=4"]


def test_a_stopped_training_goes_on(run: Run, train_file: Path, tmp_path: Path) -> None:
    small = ["--preset", "x-transformer", *SMALL]
    assert run("train", train_file, "--to", tmp_path / "whole", *small).code == 0

    def stop(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting.PackedTree, "join", stop)
        assert run("train", train_file, "--to", tmp_path / "m", *small).code == 130
    assert (tmp_path / "m.checkpoint" / "tree.part").is_dir()
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *small, "--resume")
    assert code == 0, err
    assert "epoch 1" not in err  # the encoder was finished
    read = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("m", "whole")]
    assert read[0] == read[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]
    # a stopped one that nobody goes on with leaves nothing behind
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting.PackedTree, "join", stop)
        assert run("train", train_file, "--to", tmp_path / "m", *small).code == 130
    code, _, err = run("train", train_file, "--to", tmp_path / "m", *small)
    assert code == 0
    assert "m.checkpoint of a training that was stopped" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]
    code, out, _ = run("tag", tmp_path / "m", "rain snow wind", "-k", "1")
    assert "weather" in out
    assert run("inspect", tmp_path / "m", "--plot", tmp_path / "curves.svg").code == 0


def test_two_together(run: Run, train_file: Path, tmp_path: Path) -> None:
    settings = [f"{prefix}.{pair}" for prefix in ("models.0", "models.1") for pair in SMALL[1::2]]
    options = [word for pair in settings for word in ("--set", pair)]
    code, _, err = run(
        "train", train_file, "--to", tmp_path / "m", "--preset", "x-transformer,x-transformer-overlap", *options, "-q"
    )
    assert code == 0, err
    members = xt.load(tmp_path / "m").model.members
    assert [type(m).__name__ for m in members] == ["XTransformer"] * 2
    assert members[1].fitted_tree.overlap is not None
