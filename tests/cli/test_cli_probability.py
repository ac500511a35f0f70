"""Probabilities at the command line: thresholds that choose themselves, diagrams, and what is told before the work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import Run

WORDS = ["bread", "cheese", "soup", "cake", "fish", "rice"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import numpy as np

    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    with file.open("w") as out:
        for _ in range(600):
            mine = rng.choice(len(WORDS), rng.integers(1, 4), replace=False)
            said = [f"hint{i}" for i in mine if rng.random() < 0.8] + [f"w{i}" for i in rng.integers(0, 9, 4)]
            out.write(json.dumps({"text": " ".join(said), "labels": [WORDS[i] for i in mine]}) + "\n")
    return file


@pytest.fixture(params=["xr-linear", "best"])
def trained(request: pytest.FixtureRequest, run: Run, rows: Path, tmp_path: Path) -> Path:
    assert run("train", rows, "--to", tmp_path / "m", "--preset", request.param, "-q").code == 0
    return tmp_path / "m"


def test_automatic_thresholds_and_the_diagram(run: Run, trained: Path, rows: Path, tmp_path: Path) -> None:
    code, out, _ = run("tag", trained, "hint1 hint2 w3", "--threshold", "auto")
    assert (code, {line.split()[1] for line in out.splitlines()}) == (0, {"cheese", "soup"})
    assert all(line.split()[0].endswith("%") for line in out.splitlines())
    code, out, _ = run("predict", trained, rows, "--threshold", "auto-corpus", "-q")
    assert code == 0
    assert 1 < sum(len(json.loads(line)["labels"]) for line in out.splitlines()) / 600 < 4

    plot = tmp_path / "p.svg"
    code, out, err = run("evaluate", trained, rows, "--threshold", "auto", "--plot", plot)
    assert (code, f"drew {plot}" in err) == (0, True)
    assert "claimed" in plot.read_text()
    for shown in ("microF1", "macroF1", "of rows get an answer", "expected calibration error", "Brier score"):
        assert shown in out
    found = json.loads(run("evaluate", trained, rows, "--threshold", "auto", "--json", "-q").out)
    assert 90 < found["answered"] <= 100
    assert 1 < found["answers_per_row"] < 4
    assert found["metrics"]["F1@10"] > 60
    assert {"ece", "brier"} <= set(found["reliability"])


def test_what_cannot_be_drawn_or_cut_is_told_before_the_work(
    run: Run, model: Path, trained: Path, test_file: Path, rows: Path, tmp_path: Path
) -> None:
    for plot, cure in (
        (tmp_path / "p.xyz", ".xyz is no format of pictures; let it end in .png, .svg or .pdf"),
        (tmp_path / "nowhere" / "p.png", f"there is no folder {tmp_path / 'nowhere'}"),
    ):
        code, _, err = run("evaluate", trained, rows, "--plot", plot)
        assert (code, err) == (2, f"error: cannot draw to {plot}: {cure}\n")
    knows_none = f"takes probabilities, and {model} knows none; train it with --preset best, or with 50 rows or more"
    for given in (
        ("evaluate", model, test_file, "--plot", tmp_path / "p.png"),
        ("evaluate", model, test_file, "--threshold", "auto"),
        ("predict", model, test_file, "--threshold", "auto"),
        ("tag", model, "rain", "--threshold", "auto-corpus"),
    ):
        code, out, err = run(*given)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert f"error: {given[-2] if given[-2] == '--plot' else ' '.join(map(str, given[-2:]))} {knows_none}" in err
