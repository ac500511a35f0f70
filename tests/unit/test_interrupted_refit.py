"""A training that is interrupted, wherever it is, leaves a bare model as it was: whole, and fit for use."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

import xtrellis as xt

MODELS = {
    "LinearTree": lambda: xt.LinearTree(index=xt.BalancedTree(max_leaf=8), overlap=xt.Overlap(), threads=2),
    "SoftmaxTree": lambda: xt.SoftmaxTree(dim=8, epochs=2, threads=2),
    "Glas": lambda: xt.Glas(dim=8, epochs=2, search="ann", threads=2),
    "EncoderOvA": lambda: xt.EncoderOvA(encoder=xt.BagEncoder(dim=8), epochs=2, threads=2),
    "Elias": lambda: xt.Elias(encoder=xt.BagEncoder(dim=8), epochs=2, threads=2),
    "XTransformer": lambda: xt.XTransformer(encoder=xt.BagEncoder(dim=8), epochs=2, threads=2),
}
NETWORKS = ("Glas", "EncoderOvA", "Elias", "XTransformer")


class Interrupter:
    """Counts the lines of the package that the main thread runs, and presses Ctrl-C at one of them."""

    def __init__(self, at: int = -1) -> None:
        self.at, self.lines = at, 0

    def __call__(self, frame, event, arg):
        if "xtrellis" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                raise KeyboardInterrupt
        return self

    def run(self, work) -> bool:
        """True if it was interrupted."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False


def answers(model, X):
    top = model.predict(X, 5)
    return top.labels.tobytes() + top.scores.tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_refit_leaves_the_model_as_it_was(name, tmp_path):
    if name in NETWORKS:
        pytest.importorskip("torch")
    one, other = (xt.synthetic(n_rows=120, n_labels=24, n_features=60, seed=seed) for seed in (1, 2))
    known = answers(MODELS[name]().fit(one.X, one.Y), one.X)
    afresh = answers(MODELS[name]().fit(other.X, other.Y), one.X)
    assert known != afresh
    model = MODELS[name]().fit(one.X, one.Y)
    whole = Interrupter()
    assert not whole.run(lambda: MODELS[name]().fit(other.X, other.Y))

    def untouched(at: int) -> bool:
        """After an interrupt at this line: is it the model from before (or the new one, whole)?"""
        Interrupter(at).run(lambda: model.fit(other.X, other.Y))
        now = answers(model, one.X)
        assert now in (known, afresh), f"a mixture after line {at} of {whole.lines}"
        if now != known:
            model.fit(one.X, one.Y)
        return now == known

    dice = random.Random(name)
    assert sum(untouched(dice.randrange(1, whole.lines // 2)) for _ in range(10)) == 10
    low, high = 1, whole.lines  # where the old model gives way to the new one; lines vary a little from run to run
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if untouched(middle) else (low, middle)
    for at in range(low - 8, low + 8):
        untouched(at)
    model.save(tmp_path / "m")
    assert answers(xt.load(tmp_path / "m"), one.X) == known
    assert answers(model.fit(other.X, other.Y), one.X) == afresh
    assert np.isfinite(model.predict(one.X, 3).scores).all()
