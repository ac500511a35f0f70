"""What is left when a disk takes no more: the system's limit on the size of files stands in for it."""

from __future__ import annotations

import resource
from contextlib import contextmanager

import pytest

import xtrellis as xt
from xtrellis.engines import predict_to
from xtrellis.linear.blocks import Outside
from xtrellis.linear.memory import Plan


@contextmanager
def small_files(n_bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def data():
    return xt.synthetic(n_rows=400, n_labels=30, n_features=200, seed=1)


def test_a_data_folder_is_there_whole_or_not_at_all(tmp_path, data):
    with pytest.raises(xt.DataError, match=r"data\.xt.* cannot be written: File too large"), small_files(2000):
        xt.write(data, tmp_path / "data.xt")
    assert not list(tmp_path.iterdir())
    xt.write(data, tmp_path / "data.xt")
    with pytest.raises(xt.DataError, match=r"data\.xt.* cannot be written: File too large"), small_files(5000):
        xt.convert(tmp_path / "data.xt", tmp_path / "data.xt", append=True)
    assert xt.open(tmp_path / "data.xt", verify=True).n_rows == 400


def test_predictions_go_on_when_there_is_room(tmp_path, data):
    model = xt.LinearTree().fit(data)
    with pytest.raises(xt.StoreError, match="goes on with the others"), small_files(1000):
        predict_to(xt.engines.Local(1), model, data, tmp_path / "answers", k=3, batch=100)
    assert [file.name for file in (tmp_path / "answers").iterdir()] == ["plan.json"]
    assert predict_to(xt.engines.Local(1), model, data, tmp_path / "answers", k=3, batch=100) == 400


def test_a_training_says_where_it_lacks_room(tmp_path, data, monkeypatch):
    how = Plan(room=1e9, spill=True, weights=0, outside=Outside(1 << 12, 1 << 12))
    monkeypatch.setattr("xtrellis.linear.fit.plan", lambda *_, **__: how)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    model = xt.LinearTree(memory_limit="1GB")
    with pytest.raises(xt.StoreError, match="TMPDIR"), small_files(2000):
        model.fit(data)
    assert not model.fitted
    assert not list(tmp_path.iterdir())
