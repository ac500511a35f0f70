"""What tasks of prediction do in whatever process they run."""

from __future__ import annotations

import pickle

import xtrellis as xt
from xtrellis.engines.predicting import loaded, shared_model


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


def test_the_same_answers_in_threads(tmp_path):
    data = xt.synthetic(n_rows=300, n_labels=20, n_features=100, seed=0)
    model = xt.LinearTree().fit(data)
    found = [xt.engines.predict_to(xt.engines.Local(n), model, data, tmp_path / str(n), k=3, batch=70) for n in (1, 3)]
    assert found == [300, 300]
    one, other = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("1", "3"))
    assert one == other
    assert len(one) == 6  # five parts, and the word that all are there
