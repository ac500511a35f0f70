"""What tasks of prediction do in whatever process they run."""

from __future__ import annotations

import pickle
import shutil

import numpy as np

import xtrellis as xt
from xtrellis.data import RowSource, all_rows, near_rows
from xtrellis.engines import predicting
from xtrellis.engines.predicting import loaded, shared_model
from xtrellis.linear.remote import Bundle
from xtrellis.store import saved_files


def test_a_model_that_arrives_with_every_task_is_loaded_once(tmp_path):
    data = xt.synthetic(n_rows=200, n_labels=20, n_features=100, seed=0)
    first, second = (xt.LinearTree(cost=cost).fit(data) for cost in (1.0, 2.0))
    first.save(tmp_path / "model")
    for given in (first, tmp_path / "model"):
        shared = pickle.dumps(shared_model(given))
        one, again = (loaded(pickle.loads(shared)) for _ in range(2))
        assert one is again
        assert one.threads == 1
    second.save(tmp_path / "model")  # another one in the same place
    assert loaded(shared_model(tmp_path / "model")).cost == 2.0


def test_a_model_is_packed_again_only_if_it_has_changed(monkeypatch):
    data = xt.synthetic(n_rows=200, n_labels=20, n_features=100, seed=0)
    model, packed = xt.LinearTree().fit(data), []
    monkeypatch.setattr(predicting, "saved_files", lambda given: packed.append(given) or saved_files(given))
    engine = xt.engines.Local(1)
    first = [predicting.predict_all(engine, model, data, 3, 50) for _ in range(2)][1]
    assert len(packed) == 1
    assert np.array_equal(first.scores, model.predict(data.X, k=3).scores)
    model.set_params(beam=1)
    narrow = predicting.predict_all(engine, model, data, 3)
    assert np.array_equal(narrow.scores, model.predict(data.X, k=3).scores)
    model.fit(data.X, data.Y, sample_weight=np.where(np.arange(200) % 2, 1.0, 3.0))
    again = predicting.predict_all(engine, model, data, 3, 50)
    assert np.array_equal(again.scores, model.predict(data.X, k=3).scores)
    assert len(packed) == 3


def test_batches_are_even():
    assert predicting.even_batch(80_000, 1) == 16_000
    assert predicting.even_batch(80_000, 2) == 13_334
    assert predicting.even_batch(5, 4) == 2
    assert predicting.even_batch(0, 3) == 1


def test_the_same_answers_in_threads(tmp_path):
    data = xt.synthetic(n_rows=300, n_labels=20, n_features=100, seed=0)
    model = xt.LinearTree().fit(data)
    found = [xt.engines.predict_to(xt.engines.Local(n), model, data, tmp_path / str(n), k=3, batch=70) for n in (1, 3)]
    assert found == [300, 300]
    one, other = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("1", "3"))
    assert one == other
    assert len(one) == 6  # five parts, and the word that all are there


def test_rows_of_a_folder_are_kept_until_another_lies_in_its_place(tmp_path, monkeypatch):
    for seed in (0, 1):
        data = xt.synthetic(n_rows=50, n_labels=5, n_features=30, seed=seed)
        shutil.rmtree(tmp_path / "data.xt", ignore_errors=True)
        xt.write(data, tmp_path / "data.xt")
        source = RowSource(str(tmp_path / "data.xt"), 10, 40, unit=True)
        found = all_rows(source)
        assert found is all_rows(source)
        some = np.array([3, 7, 20])
        few = near_rows(source, some)
        for place, row in enumerate(some):
            one = found.data[found.indptr[row] : found.indptr[row + 1]]
            assert np.array_equal(one, few.data[few.indptr[place] : few.indptr[place + 1]])
            own = data.X[[10 + row]].data
            np.testing.assert_allclose(one, own / np.linalg.norm(own), rtol=1e-6)
    monkeypatch.setattr("xtrellis.data.folder.far.HELD", 10)
    assert all_rows(source._replace(last=41)) is None


def test_blocks_come_back_as_they_were():
    rng = np.random.default_rng(0)
    blocks = []
    for n in (3, 0, 5):
        arrays = [rng.integers(0, 9, n).astype(kind) for kind in (np.uint32, np.uint8, np.float32, np.float32)]
        arrays += [np.ones(n, np.int32)] if n == 5 else []  # a part has one more
        blocks.append((arrays, np.arange(n, dtype=np.int32), np.ones(n, np.uint8)))
    again = list(pickle.loads(pickle.dumps(Bundle.of(blocks))).blocks())
    for (arrays, *known), (found, *told) in zip(blocks, again, strict=True):
        assert len(arrays) == len(found)
        for one, other in zip([*arrays, *known], [*found, *told], strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
