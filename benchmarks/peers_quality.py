"""How good the peers' trees are where `best` is measured: P, R and PSP of the same test rows, by the same code.

    make bench-peers                                     once: the peers' environment, .venv-peers
    python benchmarks/peers_quality.py [--data yso-100k …] [--seeds 3]

PECOS XR-Linear, omikuji's Parabel and its Bonsai, one tree each with their own settings, beam 10, 100 labels a row; the
features that `xtrellis experiment witnesses` trains on. omikuji has no seed: its turns differ by chance. Lines go to
results/peers_quality.jsonl; report.py shows them in docs/performance.md beside `best`, which is to be measured against
the better of `xr-linear` and every peer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.experiments.data import Prepared, prepare
from xtrellis.experiments.measure import quality
from xtrellis.experiments.witnesses import DATA, METRICS

HERE = Path(__file__).parent
TOP = 100
ENGINES = {
    "pecos": ("run_pecos.py", "default"),
    "omikuji": ("run_omikuji.py", "default"),
    "omikuji bonsai": ("run_omikuji.py", "bonsai"),
}


def write(data: Prepared, folder: Path) -> None:
    """The matrices as engines read them; omikuji refuses training rows without features."""
    for part, rows in (("trn", data.train), ("tst", data.test)):
        for kind, matrix in (("X", rows.X), ("Y", rows.Y)):
            sp.save_npz(folder / f"{kind}.{part}.npz", sp.csr_matrix(matrix, dtype=np.float32), compressed=False)
    X, Y = sp.csr_array(data.train.X), sp.csr_array(data.train.Y)
    kept = np.flatnonzero(np.diff(X.indptr) > 0)
    xt.write(xt.Dataset(X=X[kept], Y=Y[kept]), folder / "train.txt", format="xmc")


def run(python: str, folder: Path, engine: str, seed: int, threads: int) -> dict[str, Any]:
    """What the engine's processes say; the answers are in model.npy."""
    script, config = ENGINES[engine]
    found: dict[str, Any] = {}
    for phase in ("train", "answers"):
        command = [python, str(HERE / "engines" / script), phase, str(folder), str(folder / "model")]
        command += ["--config", config, "--top", str(TOP), "--seed", str(seed), "--threads", str(threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found |= json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=list(DATA))
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    parser.add_argument("--folder", type=Path, help="where the matrices and models are put meanwhile")
    args = parser.parse_args()
    for name in args.data:
        data = prepare(name, args.threads)
        with tempfile.TemporaryDirectory(dir=args.folder) as work:
            folder = Path(work)
            write(data, folder)
            for seed in range(args.seeds):
                for engine in args.engines:
                    said = run(args.peers_python, folder, engine, seed, args.threads)
                    labels = np.load(folder / "model.npy")
                    places = np.broadcast_to(np.linspace(1, 0.5, labels.shape[1], dtype=np.float32), labels.shape)
                    found = quality(data, xt.TopK(labels, places, data.train.n_labels), METRICS)
                    print(name, engine, seed, found, flush=True)
                    record(
                        "peers_quality", command=f"python benchmarks/peers_quality.py --data {name}", data=name,
                        engine=engine, engine_version=said["version"], seed=seed, beam=10, top=TOP,
                        test_rows=data.test.n_rows, train_cpu_seconds=round(said["train_cpu_seconds"], 2), **found,
                    )  # fmt: skip


if __name__ == "__main__":
    main()
