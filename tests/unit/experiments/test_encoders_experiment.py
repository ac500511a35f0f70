"""The experiment on pretrained encoders, with a few rows and one layer."""

from __future__ import annotations

from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.core.errors import InputError
from xtrellis.experiments import encoders, experiment
from xtrellis.experiments.base import run_all
from xtrellis.neural.encoders.transformer import TransformerEncoder


def test_every_model_is_measured_on_the_same_rows(
    tmp_path: Path, one_layer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "ROWS", 60)
    monkeypatch.setattr(encoders, "EPOCHS", dict.fromkeys(encoders.EPOCHS, 1))
    monkeypatch.setattr(encoders, "minilm", lambda: TransformerEncoder(path=one_layer, max_length=8))
    path = run_all(experiment("encoders"), tmp_path, data=["pydocs"], seeds=1, threads=2)
    lines = [line for line in path.read_text().splitlines() if line.startswith("| ")][2:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [
        "xr-linear", "overlap", "best", "vectors as pretrained", "vectors as pretrained, overlap", "x-transformer",
        "x-transformer, overlap", "x-transformer, overlap, three clusterings", "encoder-ova", "ELIAS stage 1",
        "ELIAS stage 2",
    ]  # fmt: skip
    assert all(float(cell) >= 0 for line in lines for cell in line.split(" | ")[1:-1])
    assert "pydocs: 60 rows, 1 seed" in path.read_text()


def test_features_alone_are_not_enough(tmp_path: Path) -> None:
    data = xt.synthetic(n_rows=60, n_labels=8, n_features=30, seed=0)
    for part in ("train", "test"):
        xt.write(data, tmp_path / f"{part}.txt", format="xmc")
    with pytest.raises(InputError, match="needs texts"):
        run_all(experiment("encoders"), tmp_path / "out", data=[str(tmp_path)], seeds=1)


def test_the_encoder_comes_from_the_package_that_carries_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(encoders.minilm().path).joinpath("config.json").is_file()
    monkeypatch.setattr(encoders, "find_spec", lambda name: None)
    assert encoders.minilm().path == encoders.NAME
