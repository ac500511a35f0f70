"""Where updates lose precision against a full training: one thing after another is mended, on held-out rows.

    python benchmarks/living.py [--data yso-100k] [--model xr-linear] [--threads 2]

The stream is that of `xtrellis experiment living`. After ten updates: the model as it is; with all classifiers of the
same tree trained again, those of inner nodes alone, those of labels alone; with the tree built anew; with words learned
anew as well, which is a full training. Appends lines to benchmarks/results/living.jsonl. Needs XTRELLIS_DATA.
"""

from __future__ import annotations

import argparse
import copy
import time

import numpy as np
from common import record

from xtrellis.experiments import living
from xtrellis.experiments.data import Bench
from xtrellis.linear.living import update
from xtrellis.tagger.living.learning import training_data

NOTHING = np.zeros(0, np.int64)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given.add_argument("--data", default="yso-100k")
    given.add_argument("--model", default="xr-linear")
    given.add_argument("--threads", type=int, default=2)
    asked = given.parse_args()
    stream = living.Stream(Bench(asked.threads).data(asked.data).held_out(), 0)

    def told(way: str, tagger: object, seconds: float) -> None:
        row = {"data": asked.data, "model": asked.model, "seed": 0, "way": way, "seconds": round(seconds, 2)}
        row |= stream.quality(tagger)
        record("living", **row)
        print(way, row, flush=True)

    live = living._tagger(asked.model, 0, asked.threads).fit(*stream.rows(0, stream.half))
    taken = []
    for i in range(living.BATCHES):
        rows, start = stream.rows(*stream.batch(i)), time.process_time()
        live.update(*rows)
        taken.append(time.process_time() - start)
    told("update", live, float(np.mean(taken)))
    data, _ = training_data(live, live.life, live.label_ids, live.version)
    usual = update._stale

    def mended(way: str, only: int | None) -> None:
        def stale(tree, then, now, first, again):  # all of some kind, whatever has changed
            inner = tree.children[first : first + now.shape[1]] >= 0
            return inner | ~inner if only is None else inner == bool(only)

        update._stale = stale
        start, other = time.process_time(), copy.copy(live)
        other.model = live.model.updated(data, NOTHING, NOTHING)
        update._stale = usual
        told(way, other, time.process_time() - start)

    mended("all classifiers trained again", None)
    mended("those of inner nodes", 1)
    mended("those of labels", 0)
    start, other = time.process_time(), copy.copy(live)
    other.model = live.model.clone().set_params(threads=asked.threads).fit(data)
    told("another tree", other, time.process_time() - start)
    start = time.process_time()
    full = living._tagger(asked.model, 0, asked.threads).fit(*stream.rows(0, stream.n_rows))
    told("other words too: a full training", full, time.process_time() - start)


if __name__ == "__main__":
    main()
