"""`tune`: the same table on any engine, by rows that no candidate was trained on."""

from __future__ import annotations

import pytest

import xtrellis as xt


class Far(xt.engines.Local):
    """As far away as a cluster, and backwards."""

    far = True

    def run(self, function, tasks, done, *, split=None):
        for name, arguments in reversed(list(tasks)):
            done(name, function(*arguments))


def test_the_same_table_wherever_candidates_are_trained():
    data = xt.synthetic(n_rows=300, n_labels=20, n_features=100, seed=0)
    here = xt.tune(xt.LinearTree(), data, trials=10, seed=3)
    assert here == xt.tune(xt.LinearTree(), data, trials=10, seed=3, engine=Far())
    assert len(here.trials) == 10
    assert [trial.rows for trial in here.trials] == sorted((trial.rows for trial in here.trials), reverse=True)
    assert here.best.rows > 250  # all but those held out
    known, held = data.split(0.1, seed=3)
    again = xt.LinearTree().set_params(**here.params).fit(known)
    score = xt.evaluate(held.Y, again.predict(held.X, k=5), metrics=["nDCG@5"], train_labels=known.Y)["nDCG@5"]
    assert here.best.score == pytest.approx(float(score), abs=1.0)  # rows in another order


def test_what_is_fixed_stays_and_what_cannot_be_tried_is_refused():
    data = xt.synthetic(n_rows=300, n_labels=20, n_features=100, seed=0)
    found = xt.tune(xt.LinearTree(), data, trials=1, fixed={"cost", "prune"})
    assert not {"cost", "prune"} & set(found.params)
    with pytest.raises(xt.InputError, match="nothing is known"):
        xt.tune(xt.Neighbors(), data, trials=1)
    with pytest.raises(xt.InputError, match="too few"):
        xt.tune(xt.LinearTree(), data.select(slice(0, 5)), trials=1)


def test_the_picture_shows_every_parameter(tmp_path):
    pytest.importorskip("matplotlib")
    data = xt.synthetic(n_rows=300, n_labels=20, n_features=100, seed=0)
    found = xt.tune(xt.LinearTree(), data, trials=9, seed=3)
    found.plot(tmp_path / "tuned.svg")
    drawn = (tmp_path / "tuned.svg").read_text()
    assert drawn.count('<g id="axes_') >= len(found.params)
    with pytest.raises(xt.InputError, match="no format of pictures"):
        found.plot(tmp_path / "tuned.txt")
    with pytest.raises(xt.InputError, match="there is no folder"):
        found.plot(tmp_path / "nowhere" / "tuned.svg")
