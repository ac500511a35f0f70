"""Kill a training, resume it from its checkpoint, and get the same model, byte for byte.

Run: python examples/resume_training.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import xtrellis as xt


def train(checkpoint: Path | None, **params: Any) -> xt.LinearTree:
    data = xt.synthetic(n_rows=12_000, n_labels=2000, n_features=5000, seed=0)
    return xt.LinearTree(n_trees=3, seed=0, threads=1, **params).fit(data.X, data.Y, checkpoint=checkpoint)


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def main(folder: Path) -> None:
    checkpoint = folder / "checkpoint"

    # A process of its own trains, and is killed as soon as it has finished a part of the first tree.
    process = subprocess.Popen([sys.executable, __file__, str(checkpoint)])
    while process.poll() is None and not list(checkpoint.glob("tree0.nodes*.safetensors")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    print("finished parts in the checkpoint:", len(list(checkpoint.glob("tree*.nodes*.safetensors"))))

    # The same data, parameters and folder: training continues from what is there.
    resumed = train(checkpoint)
    print("the checkpoint is kept until the model is saved:", checkpoint.exists())

    # Other parameters would give another model: that is refused.
    try:
        train(checkpoint, cost=2.0)
    except xt.StoreError as error:
        print("refused:", str(error).partition("another training: ")[2])

    resumed.save(folder / "resumed")
    print("after saving:", checkpoint.exists())
    train(None).save(folder / "whole")
    print("same bytes as without the interruption:", files(folder / "resumed") == files(folder / "whole"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        train(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as name:
            main(Path(name))
