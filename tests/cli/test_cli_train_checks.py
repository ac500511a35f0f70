"""`train` refuses before training what would fail after it: nothing is trained for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_world import Run

TRAIN = "4 5 3\n0 0:1 1:1\n1 1:1 2:1\n2 3:1\n0,1 0:1 4:1\n"


def test_a_beam_that_no_search_can_have_is_refused_before_the_data_is_read(run: Run, tmp_path: Path) -> None:
    code, _, err = run("train", tmp_path / "nothing.txt", "--to", tmp_path / "m", "--set", "beam=2147483648")
    assert code == 2
    assert err == "error: beam must be an integer ≥ 1, at most 2147483647 or None; got 2147483648\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("1 9 3\n0 0:1 8:1\n", "the test data has 9 features, the training data 5"),
        ("0 5 3\n", "the test data has no rows: there is nothing to measure on"),
        ("1 5 7\n6 1:1 2:1\n", "the data has 7 labels and no names for them; 3 are known"),
    ],
    ids=["features", "empty", "labels"],
)
def test_test_data_that_does_not_fit_is_refused_before_training(
    run: Run, tmp_path: Path, test: str, message: str
) -> None:
    (tmp_path / "train.txt").write_text(TRAIN)
    (tmp_path / "test.txt").write_text(test)
    code, _, err = run("train", tmp_path / "train.txt", "--to", tmp_path / "m", "--test", tmp_path / "test.txt")
    assert code == 2
    assert err.endswith(f"error: {message}\n")
    assert "training classifiers" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.txt", "train.txt"]


def test_test_data_without_texts_is_refused_before_training(run: Run, train_file: Path, tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text(TRAIN)
    code, _, err = run("train", train_file, "--to", tmp_path / "m", "--test", tmp_path / "test.txt")
    assert code == 2
    assert "the test data has 5 features, the training data" in err
    assert "training classifiers" not in err


def test_texts_do_not_measure_a_model_of_features(run: Run, test_file: Path, tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(TRAIN)
    code, _, err = run("train", tmp_path / "train.txt", "--to", tmp_path / "m", "--test", test_file)
    assert code == 2
    assert err.endswith("error: the test data has texts only, the training data features\n")
    assert "training classifiers" not in err
