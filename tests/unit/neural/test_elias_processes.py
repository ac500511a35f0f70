"""Two processes make the model that one makes, to the bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import xtrellis as xt
from xtrellis.neural.training.processes import ProcessGroup, _pack, _unpack

SCRIPT = """
import sys, numpy as np, scipy.sparse as sp, torch, xtrellis as xt
from xtrellis.neural.training.processes import ProcessGroup
sys.path.insert(0, sys.argv[2])
import test_elias_processes as here
folder = sys.argv[1]
torch.distributed.init_process_group("gloo")
rank = torch.distributed.get_rank()
here.check_sums(ProcessGroup(torch))
X, Y = (sp.load_npz(f"{folder}/{name}.npz") for name in "XY")
for name, model in here.models(threads=1).items():
    try:
        model.fit(X, Y, checkpoint=folder + "/state")
        raise AssertionError("a checkpoint was accepted")
    except xt.InputError as error:
        assert "several processes" in str(error)
    top = model.fit(X, Y).predict(X)
    np.savez(f"{folder}/{name}{rank}.npz", labels=top.labels, scores=top.scores)
torch.distributed.destroy_process_group()
"""


def models(**params: Any) -> dict[str, Any]:
    how: dict[str, Any] = {"encoder": xt.BagEncoder(dim=16), "epochs": 2, "batch_size": 150, "holdout": 0.3, **params}
    return {
        "elias": xt.Elias(n_clusters=8, **how),
        "ova": xt.EncoderOvA(**how),
        "xtransformer": xt.XTransformer(n_clusters=8, **how),
    }


def check_sums(processes: ProcessGroup) -> None:
    """What `gather` and `add` give is what one process would have computed, for any number of tasks."""
    for count in (1, 2, 5):
        rng = np.random.default_rng(count)
        tasks = [[rng.standard_normal(s).astype(np.float32) * 10.0**i for s in ((3, 5), (7,))] for i in range(count)]
        odd = [[np.arange(i, dtype=np.int32), np.full((1, i), i, np.float64)] for i in range(count)]
        mine = processes.share(range(count))
        expected = [tasks[0][j].copy() for j in range(2)]
        for arrays in tasks[1:]:
            expected = [total + array for total, array in zip(expected, arrays, strict=True)]
        for got, wanted in zip(processes.add([tasks[i] for i in mine], tasks[0], count), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
        for got, wanted in zip(processes.gather([odd[i] for i in mine], count), odd, strict=True):
            for a, b in zip(got, wanted, strict=True):
                np.testing.assert_array_equal(a, b)
                assert (a.dtype, a.shape) == (b.dtype, b.shape)


def test_one_process_is_the_simplest_case() -> None:
    check_sums(ProcessGroup(torch))
    arrays = [np.ones((2, 0, 3), np.float32), np.arange(5, dtype=np.int64), np.zeros((1, 1), np.int32)]
    for got, wanted in zip(_unpack(_pack(arrays)), arrays, strict=True):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processes")
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 40)) < 0.08).astype(np.float32)
    X = ((Y @ rng.random((40, 50))) * (rng.random((300, 50)) < 0.5)).astype(np.float32)
    sp.save_npz(folder / "X.npz", sp.csr_array(X))
    sp.save_npz(folder / "Y.npz", sp.csr_array(Y))
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*command, str(folder / "script.py"), str(folder), str(Path(__file__).parent)], capture_output=True, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.parametrize("name", list(models()))
def test_two_processes_give_the_result_of_one(trained: Path, name: str) -> None:
    X, Y = (sp.load_npz(trained / f"{matrix}.npz") for matrix in "XY")
    alone = models()[name].fit(X, Y).predict(X)
    for rank in (0, 1):
        found = np.load(trained / f"{name}{rank}.npz")
        np.testing.assert_array_equal(found["scores"], alone.scores)
        np.testing.assert_array_equal(found["labels"], alone.labels)
