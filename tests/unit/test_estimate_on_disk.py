"""What a small model will take on disk: names, vectoriser and manifest weigh more than its weights."""

from __future__ import annotations

from pathlib import Path

import pytest

import xtrellis as xt

DEVICES = ["camera", "laptop", "monitor", "phone", "printer", "router", "scanner", "tablet"]
PROBLEMS = ["battery", "display", "network", "noise", "password", "speed"]


def folder_size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


@pytest.mark.parametrize(("rows", "labels", "features"), [(200, 12, 60), (500, 60, 200), (1000, 150, 800)])
def test_of_a_linear_tree(tmp_path: Path, rows: int, labels: int, features: int) -> None:
    data = xt.synthetic(n_rows=rows, n_labels=labels, n_features=features, seed=0)
    model = xt.preset("xr-linear")
    expected = model.estimate(data.X, data.Y)
    model.fit(data.X, data.Y).save(tmp_path / "m")
    assert 0.5 < expected.model_bytes / folder_size(tmp_path / "m") < 2
    assert folder_size(tmp_path / "m") < expected.model_bytes_at_most


def test_of_a_tagger(tmp_path: Path) -> None:
    texts = [f"my {device} has a {problem} of kind {i}" for i in range(8) for device in DEVICES for problem in PROBLEMS]
    labels = [[device, problem] for _ in range(8) for device in DEVICES for problem in PROBLEMS]
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear"))
    data = tagger.prepare(texts, labels)
    expected = tagger.estimate(data)
    tagger.fit(data).save(tmp_path / "m")
    assert 0.5 < expected.model_bytes / folder_size(tmp_path / "m") < 2
    assert expected.model_bytes > tagger.model.estimate(data.X, data.Y).model_bytes
