"""How well labels are found by their names alone, on test rows; and labels that no training row has.

    python benchmarks/names_quality.py [--data yso-100k stackexchange …] [--hide 0.2]

For the second part a share of the labels is taken out of the training rows (their names stay): of the test rows that
have such labels, how many of these are among the first 10 and 100 answers, beside all other labels. Parameters were
chosen on held-out training rows.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from common import record

import xtrellis as xt
from xtrellis.data import shared

CHOSEN: dict[str, dict[str, object]] = {
    "yso-100k": {"stem": "english"},
    "stackexchange": {"stem": "english"},
    "mdn-seealso": {},
    "debian-depends": {},
}
METRICS = ["P@1", "P@5", "R@10", "R@100", "PSP@5"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=list(CHOSEN))
    parser.add_argument("--hide", type=float, default=0.2)
    args = parser.parse_args()
    for name in args.data:
        train = shared(name)
        test = shared(name, "test", labels=train.label_names)
        names, Y, Y_test = list(train.label_names), sp.csr_array(train.Y), sp.csr_array(test.Y)
        hidden = np.random.default_rng(0).random(len(names)) < args.hide
        only = sp.csr_array(Y_test @ sp.diags_array(hidden.astype(np.float32)))
        only.eliminate_zeros()
        rest = sp.csr_array(Y @ sp.diags_array((~hidden).astype(np.float32)))
        rest.eliminate_zeros()
        some = np.flatnonzero(np.diff(only.indptr))
        for part, given, wanted, rows in (("all", Y, Y_test, np.arange(len(test.texts))), ("unseen", rest, only, some)):
            model = xt.NameMatcher(threads=1, **CHOSEN[name])
            begun = time.process_time()
            model.fit(None, given, texts=list(train.texts), label_names=names)
            fit = time.process_time() - begun
            texts = [test.texts[int(i)] for i in rows]
            begun = time.process_time()
            top = model.predict(None, 100, texts=texts)
            taken = time.process_time() - begun
            report = xt.evaluate(wanted[rows], top, metrics=METRICS, train_labels=Y)
            found = {metric: round(float(report[metric]), 2) for metric in METRICS}
            print(
                name,
                part,
                len(rows),
                found,
                f"fit {fit:.1f} s, {1e6 * taken / len(rows):.0f} µs a row (cpu)",
                flush=True,
            )
            record(
                "names_quality", data=name, part=part, rows=len(rows),
                hidden=int(hidden.sum()) if part == "unseen" else 0, params=CHOSEN[name], **found,
                fit_cpu=round(fit, 2), cpu_per_row=taken / len(rows),
            )  # fmt: skip


if __name__ == "__main__":
    main()
