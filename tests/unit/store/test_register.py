"""Classes of users' own in the store: by registering, never by a model's own word."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import xtrellis as xt

MODULE = """
import numpy as np
import xtrellis as xt
from xtrellis.store import State


@xt.register
class Popular(xt.Model):
    _counts, _learned = None, "_counts"
    n_labels = property(lambda self: len(self._counts))

    def _train(self, data, checkpoint):
        self._counts = data.label_counts

    def predict(self, X, k=10, *, texts=None):
        best = np.argsort(-self._counts, kind="stable")[:k].astype(np.int32)
        n = X.shape[0]
        return xt.TopK(np.tile(best, (n, 1)), np.tile(self._counts[best].astype(np.float32), (n, 1)), self.n_labels)

    def _to_state(self):
        return State(arrays={"counts": self._counts})

    @classmethod
    def from_state(cls, params, state):
        model = cls(**params)
        model._counts = state.arrays["counts"]
        return model
"""


def load(tmp_path, first: str) -> subprocess.CompletedProcess[str]:
    script = f"{first}\nimport xtrellis as xt\nprint(xt.load('model').n_labels)"
    return subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_registered_model_loads_where_its_module_is_imported(tmp_path, monkeypatch):
    (tmp_path / "popular.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("xtrellis.store.registry._registered", {})
    import popular

    Y = np.eye(5, dtype=np.float32)
    model = popular.Popular().fit(Y, Y)
    model.save(tmp_path / "model")
    assert xt.load(tmp_path / "model").n_labels == 5
    assert xt.Ensemble(models=[popular.Popular(), xt.LinearTree()]).fit(Y, Y).n_labels == 5
    assert load(tmp_path, "import popular").stdout.strip() == "5"
    refused = load(tmp_path, "")
    assert refused.returncode != 0
    assert "'Popular' is not one this version of xtrellis can load" in refused.stderr
    assert "import the module that does xt.register first" in refused.stderr


def test_what_is_refused():
    with pytest.raises(xt.InputError, match="takes a class of models"):
        xt.register(5)
    with pytest.raises(xt.InputError, match="takes a class of models"):
        xt.register(dict)

    class LinearTree(xt.LinearTree):
        pass

    with pytest.raises(xt.InputError, match="there is a class 'LinearTree' in the store already"):
        xt.register(LinearTree)

    class Half(xt.Model):
        pass

    with pytest.raises(xt.InputError, match=r"cannot be stored yet: it lacks .*predict"):
        xt.register(Half)

    class Other(xt.LinearTree):
        pass

    Y = np.eye(3, dtype=np.float32)
    model = Other().fit(Y, Y)
    with pytest.raises(xt.StoreError, match=r"its class is not registered; put @xt.register above it"):
        model.save("nowhere")


def test_index_builders_need_none():
    class Mine(xt.Index):
        def build(self, labels, *, seed):
            raise NotImplementedError

    assert xt.register(Mine) is Mine
