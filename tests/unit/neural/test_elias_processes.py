"""Two processes make the model that one makes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from xtrellis.neural import BagEncoder, Elias

SCRIPT = """
import sys, numpy as np, scipy.sparse as sp, torch, xtrellis as xt
folder = sys.argv[1]
torch.distributed.init_process_group("gloo")
X, Y = (sp.load_npz(f"{folder}/{name}.npz") for name in "XY")
model = xt.Elias(encoder=xt.BagEncoder(dim=16), clusters=8, epochs=2, batch=150, holdout=0.3, threads=1)
try:
    model.fit(X, Y, checkpoint=folder + "/state")
except xt.InputError as error:
    assert "several processes" in str(error)
top = model.fit(X, Y).predict(X)
np.savez(f"{folder}/top{torch.distributed.get_rank()}.npz", labels=top.labels, scores=top.scores)
torch.distributed.destroy_process_group()
"""


def test_two_processes_give_the_result_of_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 40)) < 0.08).astype(np.float32)
    X = ((Y @ rng.random((40, 50))) * (rng.random((300, 50)) < 0.5)).astype(np.float32)
    sp.save_npz(tmp_path / "X.npz", sp.csr_array(X))
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(Y))
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(tmp_path / "script.py"), str(tmp_path)], capture_output=True, text=True, env=environment,
        check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    model = Elias(encoder=BagEncoder(dim=16), clusters=8, epochs=2, batch=150, holdout=0.3)
    alone = model.fit(sp.csr_array(X), sp.csr_array(Y)).predict(sp.csr_array(X))
    for rank in (0, 1):
        found = np.load(tmp_path / f"top{rank}.npz")
        np.testing.assert_allclose(found["scores"], alone.scores, atol=1e-6)
        assert (found["labels"] == alone.labels).mean() > 0.999
