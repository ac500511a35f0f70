"""Re-ranked models and ensembles from the command line."""

from __future__ import annotations

from pathlib import Path

from cli_world import Run

import xtrellis as xt

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
    code, _, err = run("tag", to, "rain snow wind", "--explain")
    assert code == 2
    assert "Reranked cannot explain its answers" in err
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
    code, _, err = run(
        "train", train_file, "--to", to, *TRAIN, "--preset", "xr-linear,bonsai", "--set", "models.2.beam=3"
    )
    assert code == 2
    assert "by its number, 0 to 1" in err
