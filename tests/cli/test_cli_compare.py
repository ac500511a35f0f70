"""`compare`, and `evaluate` of files that `predict` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import Run

import xtrellis as xt


@pytest.fixture(scope="session")
def poor(train_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has seen little."""
    path = tmp_path_factory.mktemp("models") / "poor"
    data = xt.read(train_file)
    xt.Tagger(xt.Vectorizer(), xt.preset("one-vs-all")).fit(data.select(range(3))).save(path)
    return path


def test_compare_says_which_is_better(run: Run, model: Path, poor: Path, test_file: Path) -> None:
    code, out, err = run("compare", poor, model, test_file)
    assert code == 0, err
    assert "R@5 by label frequency" in out
    assert "60 rows" in out
    assert "A = " in out
    assert " ✓" in out
    code, out, err = run("compare", poor, model, test_file, "--json", "-q", "--metrics", "P@1", "--rows", "3")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["metrics"]["P@1"]["better"] == "B"
    for name, path in (("a", poor), ("b", model)):
        measured = json.loads(run("evaluate", path, test_file, "--json", "-q", "--metrics", "P@1").out)["metrics"]
        assert found["metrics"]["P@1"][name] == pytest.approx(measured["P@1"])
    assert len(found["rows"]) == 3
    assert set(found["rows"][0]) == {"row", "gain", "text", "labels", "a", "b"}
    code, out, _ = run("compare", model, model, test_file, "--json", "-q")
    assert json.loads(out)["rows"] == []


@pytest.mark.parametrize("suffix", ["jsonl", "txt", "npz"])
def test_evaluate_scores_what_predict_wrote(
    run: Run, model: Path, test_file: Path, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"p.{suffix}"
    assert run("predict", model, test_file, "-k", "10", "--to", file, "-q").code == 0
    metrics = ["--metrics", "P@1,nDCG@5,R@10,F1@5", "--json", "-q"]
    expected = json.loads(run("evaluate", model, test_file, *metrics).out)["metrics"]
    code, out, err = run("evaluate", model, test_file, "--predictions", file, *metrics)
    assert code == 0, err
    assert json.loads(out)["metrics"] == pytest.approx(expected)
    code, out, err = run("evaluate", "--predictions", file, test_file, *metrics)
    if suffix == "jsonl":  # names: the data will do
        assert json.loads(out)["metrics"] == pytest.approx(expected)
    else:
        assert (code, "labels by number: give the model that made it" in err) == (2, True)
    code, out, _ = run("evaluate", model, test_file, "--predictions", file, "--metrics", "PSP@1", "--json", "-q")
    assert json.loads(out)["metrics"]["PSP@1"] > 0


def test_what_is_wrong_with_predictions(run: Run, model: Path, test_file: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.jsonl"
    short.write_text('{"labels": ["fruit"], "scores": [1]}\n')
    assert "has predictions for 1 rows; the data has 60" in run("evaluate", "--predictions", short, test_file, "-q").err
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"labels": ["fruit"], "scores": []}\n')
    assert "line 1: expected 'labels'" in run("evaluate", "--predictions", bad, test_file, "-q").err
    one = tmp_path / "one.jsonl"
    one.write_text('{"text": "apple", "labels": ["fruit"]}\n')
    err = run("evaluate", "--predictions", short, one, "-q", "--metrics", "PSP@1").err
    assert "need the frequencies of labels in training: give the model as well" in err
    code, _, err = run("evaluate", model, "-q")
    assert (code, "only with --predictions FILE may MODEL be left out" in err) == (2, True)


def test_labels_nobody_knows_count_as_wrong(run: Run, tmp_path: Path) -> None:
    data, file = tmp_path / "d.jsonl", tmp_path / "p.jsonl"
    data.write_text('{"text": "x", "labels": ["a", "b"]}\n{"text": "y", "labels": ["b"]}\n')
    file.write_text('{"labels": ["zzz", "a"], "scores": [0.9, 0.5]}\n{"tags": [{"label": "b", "score": 1}]}\n')
    code, out, err = run("evaluate", "--predictions", file, data, "--metrics", "P@1,R@2,F1@2", "--json", "-q")
    assert code == 0, err
    assert json.loads(out)["metrics"] == pytest.approx({"P@1": 50, "R@2": 75, "F1@2": 75})
    code, out, _ = run(
        "evaluate", "--predictions", file, data, "--metrics", "F1@2", "--threshold", "0.95", "--json", "-q"
    )
    assert json.loads(out)["metrics"] == pytest.approx({"F1@2": 50})


def test_evaluate_with_a_threshold(run: Run, model: Path, test_file: Path) -> None:
    found = [
        json.loads(run("evaluate", model, test_file, "--metrics", "F1@10", "--json", "-q", *more).out)["metrics"][
            "F1@10"
        ]
        for more in ([], ["--threshold", "0.3"])
    ]
    assert found[1] > found[0]
