"""Training from a data folder that is five times as large as `memory_limit`, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

import xtrellis as xt
from xtrellis.arrays import is_on_disk
from xtrellis.data import Writer

LIMIT = 110_000_000  # bytes: Python and the libraries alone take half of it
TOLERANCE = 1.1
ROWS, NONZEROS, WIDTH, LABELS = 72_000, 1000, 16_000, 16

TRAIN = """
import hashlib, json, sys
from pathlib import Path
import xtrellis as xt
folder, to, limit = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
index = xt.BalancedTree(arity=4, max_leaf=4)
model = xt.LinearTree(index=index, max_epochs=2, seed=3, threads=2, memory_limit=limit)
model.fit(xt.open(folder)).save(to)
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
digests = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(to.iterdir())}
print(json.dumps({"peak": peak, "model": digests}))
"""


def some_rows(rng, n):
    """Ascending columns, a little to the right for one label, as fast as they can be drawn."""
    labels = np.sort(rng.integers(0, LABELS, n))
    ids = np.cumsum(rng.integers(1, 2 * WIDTH // (NONZEROS + 100), (n, NONZEROS), dtype=np.int32), axis=1)
    ids = np.minimum(ids + labels[:, None] * 29, WIDTH - NONZEROS + np.arange(NONZEROS)).astype(np.int32)
    values = rng.random((n, NONZEROS), np.float32) + np.float32(0.1)
    X = csr_array((values.ravel(), ids.ravel(), np.arange(0, ids.size + 1, NONZEROS)), shape=(n, WIDTH))
    Y = csr_array((np.ones(n, np.float32), labels.astype(np.int32), np.arange(n + 1)), shape=(n, LABELS))
    return X, Y


def trained(*args):
    done = subprocess.run([sys.executable, "-c", TRAIN, *map(str, args)], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by /proc")
def test_data_of_five_times_the_limit(tmp_path):
    rng = np.random.default_rng(0)
    with Writer(tmp_path / "data.xt") as out:
        for _ in range(0, ROWS, 4000):
            X, Y = some_rows(rng, 4000)
            out.add_features(X)
            out.add_labels(Y)
    assert sum(file.stat().st_size for file in (tmp_path / "data.xt").iterdir()) >= 5 * LIMIT
    within = trained(tmp_path / "data.xt", tmp_path / "within", LIMIT)
    assert within["peak"] <= TOLERANCE * LIMIT
    assert within["model"] == trained(tmp_path / "data.xt", tmp_path / "free", "null")["model"]


def test_features_of_stored_texts_lie_in_files(tmp_path):
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{word}" for word in rng.integers(0, 300, 12)) for _ in range(2000)]
    data = xt.Dataset(None, csr_array(np.eye(5, dtype=np.float32)[rng.integers(0, 5, 2000)]), texts=texts)
    xt.write(data, tmp_path / "data.xt")
    stored = xt.open(tmp_path / "data.xt")
    expected = xt.Vectorizer(ngrams=2).fit_transform(texts)
    for made in (
        xt.Vectorizer(ngrams=2).fit_transform(stored.texts),
        xt.Vectorizer(ngrams=2).fit(stored.texts).transform(stored.texts),
    ):
        assert is_on_disk(made.data)
        assert is_on_disk(made.indices)
        for name in ("data", "indices", "indptr"):
            assert np.array_equal(getattr(made, name), getattr(expected, name))


TAG = """
import sys
import xtrellis as xt
data = xt.open(sys.argv[1])
xt.Tagger(xt.Vectorizer(threads=2), xt.LinearTree(memory_limit="130MB", max_epochs=2, threads=2)).fit(data)
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted by /proc")
def test_texts_are_read_and_learned_within_the_limit(tmp_path):
    """They, and their features, are more than it; not a page more of them is in memory than is worked on."""
    rng = np.random.default_rng(2)
    words = np.array([f"longer-word-number-{i}" for i in range(20_000)], object)
    drawn = (len(words) ** rng.random((4000, 100)) - 1).astype(np.int64)
    texts, labels = [" ".join(row) for row in words[drawn]], drawn[:, :1] % 50
    Y = csr_array((np.ones(4000, np.float32), labels.ravel().astype(np.int32), np.arange(4001)), shape=(4000, 50))
    with Writer(tmp_path / "data.xt") as out:
        for _ in range(20):
            out.add_texts(texts)
            out.add_labels(Y)
    assert (tmp_path / "data.xt" / "texts.bytes").stat().st_size > 150e6
    call = [sys.executable, "-c", TAG, str(tmp_path / "data.xt")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert int(done.stdout) <= 1.1 * 130e6
