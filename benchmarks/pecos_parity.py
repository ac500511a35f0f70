"""Do imported PECOS models predict what PECOS predicts?

    python benchmarks/pecos_parity.py [--peers-python .venv-peers/bin/python] [--model FOLDER --rows X.npz]

PECOS trains small models of every shape we import (deep, flat, a cluster of 300 children, labels in no cluster, no
bias, each post-processor), saves them and predicts, in an environment of its own; we import the folders and compare:
the greatest difference of a score, and how many rows name the same labels (equal scores may swap at the k-th place).
With --model, a model you have is compared on rows you have.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt

HERE = Path(__file__).parent
TOLERANCE = 1e-5


def compare(folder: Path) -> dict[str, float]:
    """Ours against the predictions that lie beside the model."""
    rows = sp.load_npz(folder / "rows.npz")
    with np.load(folder / "settings.npz") as settings:
        beam, k = int(settings["beam"]), int(settings["k"])
    model = xt.import_pecos(folder / "model").set_params(beam=beam, threads=2)
    ours, theirs = model.predict(rows, k=k), xt.TopK.from_csr(sp.load_npz(folder / "predictions.npz"), k)
    width = min(ours.k, theirs.k)
    gap = np.abs(ours.scores[:, :width] - theirs.scores[:, :width]).max(initial=0)
    # A label of ours that PECOS does not name must be a tie with its last one.
    worst = theirs.scores[:, :width].min(axis=1, initial=1)[:, None]
    known = (ours.labels[:, :width, None] == theirs.labels[:, None, :]).any(axis=2)
    tie = np.abs(ours.scores[:, :width] - worst) <= TOLERANCE
    same = (known | tie).all(axis=1)
    return {"rows": len(ours), "max_difference": float(gap), "rows_with_the_same_labels": int(same.sum())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers-python", default=str(HERE.parent / ".venv-peers/bin/python"))
    parser.add_argument("--model", type=Path, help="a PECOS model folder")
    parser.add_argument("--rows", type=Path, help="npz of the rows to predict")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        command = [args.peers_python, str(HERE / "engines/make_pecos_models.py"), work]
        if args.model:
            command += ["--model", str(args.model), "--rows", str(args.rows)]
        subprocess.run(command, check=True)
        wrong = []
        print(f"{'model':28}{'rows':>8}{'max difference':>18}{'same labels':>14}")
        for folder in sorted(Path(work).iterdir()):
            found = compare(folder)
            same = found["rows_with_the_same_labels"]
            print(f"{folder.name:28}{found['rows']:>8}{found['max_difference']:>18.2e}{same:>14}")
            record("pecos_parity", model=folder.name, **found)
            if found["max_difference"] > TOLERANCE or same != found["rows"]:
                wrong.append(folder.name)
        if wrong:
            raise SystemExit(f"not the same as PECOS within {TOLERANCE}: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
