"""How uneven labels are (figures 1 and 6 of the paper): what the most frequent ones alone can answer.

A tree can only bring answers nearer to its root if few labels answer many rows. For each row the ranks of its labels
count, the most frequent label of all having rank 1: so many labels are needed for one right answer, for three (all
where a row has fewer), and for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Array, as_labels, row_numbers
from ...labels import label_frequency
from ..figures import Figures, table

ANSWERS = ("one", "three", "all")
SHARES = (*np.round(np.logspace(-4, 0, 25), 6).tolist(),)  # of the labels
SHOWN = (0.001, 0.01, 0.1)
TITLE = "How uneven labels are"
Rows = Sequence[Mapping[str, Any]]


def needed_ranks(Y: Any) -> dict[str, Array]:
    """For each row with labels: how many of the most frequent labels it takes to answer it."""
    labels = as_labels(Y)
    frequency = label_frequency(labels)
    rank = np.empty(len(frequency), np.int64)
    rank[np.argsort(-frequency, kind="stable")] = np.arange(1, len(frequency) + 1)
    rows, ranks = row_numbers(labels), rank[labels.indices]
    ranks = ranks[np.lexsort((ranks, rows))]
    first, last = labels.indptr[:-1], labels.indptr[1:]
    first, last = first[last > first], last[last > first]
    return {"one": ranks[first], "three": ranks[np.minimum(first + 2, last - 1)], "all": ranks[last - 1]}


def measure_imbalance(Y: Any) -> dict[str, Any]:
    """The shares of rows, in percent, that shares of the labels can answer: lists that belong together."""
    needed, n_labels = needed_ranks(Y), int(Y.shape[1])
    most = [max(1, round(share * n_labels)) for share in SHARES]
    found = {name: [round(100 * float(np.mean(ranks <= m)), 3) for m in most] for name, ranks in needed.items()}
    return {"labels": n_labels, "share": list(SHARES), **found}


def imbalance_page(rows: Rows, figures: Figures) -> list[str]:
    """A table of a few shares, and the curves."""
    lines = []
    for row in rows:
        at = [row["share"].index(share) for share in SHOWN]
        cells = [f"{row[answers][i]:.0f}" for answers in ANSWERS for i in at]
        lines.append([row["data"], f"{row['labels']:,}", *cells])
    with figures.draw("imbalance", columns=len(ANSWERS), size=(3.6, 3.2)) as axes:
        for answers, axis in zip(ANSWERS, axes, strict=True):
            for row in rows:
                axis.plot([100 * share for share in row["share"]], row[answers], lw=1, label=row["data"])
            axis.set_xscale("log")
            axis.set(
                xlabel="most frequent labels, % of all", ylabel="rows answered, %", title=f"{answers} of its labels"
            )
        axes[0].legend(fontsize=7)
    head = ["data", "labels", *(f"{answers}, {100 * share:g}%" for answers in ANSWERS for share in SHOWN)]
    said = (
        "Training rows, in percent, that the most frequent 0.1%, 1% and 10% of the labels can answer: with one label "
        "of theirs, with three (or all, where they have fewer), with all (figures 1 and 6 of the paper, which has 50% "
        "for one label and 1% of the labels on Wiki-500K)."
    )
    return [
        f"## {TITLE}",
        said,
        table(head, lines),
        figures.link("imbalance", "rows answered by the most frequent labels"),
    ]
