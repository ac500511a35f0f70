"""Weights in fewer bits: size on disk and precision of one xr-linear model kept as float32, float16 and int8.

    make bench-peers                                     once: the peers' environment, .venv-peers
    python benchmarks/storage.py [--data debian-depends yso-100k npm-deps]

PECOS trains on the same matrices in the same run, and its model's size stands beside ours in every line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import scipy.sparse as sp
from common import record
from compare import DATA, HERE, prepare

import xtrellis as xt

METRICS = ["P@1", "P@3", "P@5"]


def size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def pecos_bytes(python: str, folder: Path) -> int:
    """The size of the model that PECOS trains on the matrices in `folder`."""
    script = HERE / "engines" / "run_pecos.py"
    command = [python, script, "train", folder, folder / "pecos", "--threads", 2]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout.strip():
        raise SystemExit(f"PECOS: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    found: int = json.loads(done.stdout.splitlines()[-1])["model_bytes"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    args = parser.parse_args()
    if not Path(args.peers_python).exists():
        raise SystemExit(f"no {args.peers_python}: make it with `make bench-peers`, or name one with --peers-python")
    for name in args.data:
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work)
            prepare(name, folder, 0)
            peer = pecos_bytes(args.peers_python, folder)
            X, Y, x, y = (sp.load_npz(folder / f"{part}.npz") for part in ("X.trn", "Y.trn", "X.tst", "Y.tst"))
            model = xt.preset("xr-linear", seed=0, storage="float32").fit(X, Y)
            for storage in ("float32", "float16", "int8"):
                stored = model.stored_as(storage)
                stored.save(folder / storage)
                size = size_of(folder / storage)
                found = xt.evaluate(y, stored.predict(x, k=5), METRICS)
                scores = {metric: round(float(found[metric]), 3) for metric in METRICS}
                print(f"{name:16} {storage:8} {size / 1e6:6.1f} MB, {size / peer:.3f} of PECOS's", scores, flush=True)
                record("storage", data=name, storage=storage, model_bytes=size, pecos_bytes=peer, **scores)


if __name__ == "__main__":
    main()
