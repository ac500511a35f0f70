"""Re-ranked models and ensembles from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_world import Run

import xtrellis as xt
from xtrellis.linear import fit as fitting

TRAIN = ("--holdout", "0", "--quiet", "--seed", "1")


def test_a_preset_with_two_plus_signs_is_reranked(run: Run, train_file: Path, test_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    settings = ("--preset", "parabel++", "--set", "base.index.max_leaf=4", "--set", "candidates=20")
    code, _, err = run("train", train_file, "--to", to, *TRAIN, *settings)
    assert (code, err) == (0, "")
    model = xt.load(to).model
    assert (type(model).__name__, model.candidates, model.base.index.max_leaf) == ("Reranked", 20, 4)
    code, out, _ = run("tag", to, "rain snow wind", "-k", "1")
    assert code == 0
    assert "weather" in out
    assert run("evaluate", to, test_file).code == 0
    assert run("inspect", to).code == 0
    code, out, err = run("tag", to, "rain snow wind", "-k", "1", "--explain")
    assert (code, err) == (0, "")
    assert "weather  number 1 of 20 labels found" in out
    assert out.count("rain +") >= 2  # in the tree and in the ranker
    assert "ranker  +" in out
    assert "calibrated" in out
    code, _, err = run("train", train_file, "--to", to, *TRAIN, "--preset", "parabell++")
    assert code == 2
    assert "did you mean 'parabel'" in err


def test_presets_with_commas_are_an_ensemble(run: Run, train_file: Path, tmp_path: Path) -> None:
    to = tmp_path / "m"
    settings = ("--preset", "xr-linear,bonsai", "--set", "models.1.beam=3", "--set", "combine=calibrated")
    code, _, err = run("train", train_file, "--to", to, *TRAIN, *settings)
    assert (code, err) == (0, "")
    tagger = xt.load(to)
    assert [m.beam for m in tagger.model.members] == [10, 3]
    assert tagger.tag("rain snow wind", k=1)[0].label == "weather"
    code, out, err = run("tag", to, "rain snow wind", "-k", "1", "--explain")
    assert (code, err) == (0, "")
    assert "LinearTree, member 2 of 2: " in out
    code, _, err = run(
        "train", train_file, "--to", to, *TRAIN, "--preset", "xr-linear,bonsai", "--set", "models.2.beam=3"
    )
    assert code == 2
    assert "by its number, 0 to 1" in err


@pytest.mark.parametrize("preset", ["parabel++", "xr-linear,parabel++"])
def test_a_stopped_training_of_several_goes_on(run: Run, train_file: Path, tmp_path: Path, preset: str) -> None:
    how = ("--preset", preset, "--holdout", "0", "--label-text", "--seed", "1")
    assert run("train", train_file, "--to", tmp_path / "whole", *how).code == 0
    packs: list[object] = []
    join = fitting.PackedTree.join

    def some(*args: Any, **kwargs: Any) -> Any:
        packs.append(1)
        if len(packs) == 2:
            raise KeyboardInterrupt
        return join(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting.PackedTree, "join", some)
        code, _, err = run("train", train_file, "--to", tmp_path / "m", *how)
        assert code == 130
        assert "expected: " in err  # the estimate of all together
        assert list((tmp_path / "m.checkpoint").rglob("*.model"))
        code, _, err = run("train", train_file, "--to", tmp_path / "m", *how, "--resume")
    assert code == 0, err
    assert ": finished before" in err
    assert len(packs) == (3 if preset == "parabel++" else 4)  # nothing twice but the one that was stopped
    read = [{file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("m", "whole")]
    assert read[0] == read[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]
