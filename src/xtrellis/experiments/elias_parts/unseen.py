"""Labels that no training row has: ELIAS with `unseen_labels`, without, and the words of names alone."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, TopK, as_features, for_scipy, unit_rows
from ...core import InputError, generator
from ...metrics import evaluate
from ...neural import Elias
from ...text import Vectorizer
from ..data import Prepared

NAME = "unseen labels"
DATA = ("mdn-seealso",)  # whose labels have names that tell what they are, and rows are texts
SHARE = 0.1  # of the labels loses all of its training rows
WAYS = ("unseen_labels", "without", "words of names")
KINDS = ("held out", "all", "with rows")  # labels that count as right; all of them compete


def unseen(data: Prepared, model: Elias, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """A tenth of the labels without rows; test rows, by kinds of labels."""
    train, names = data.train, data.train.label_names
    if train.texts is None or names is None:
        raise InputError(f"{data.name}: labels without rows are told by names; it needs texts and label_names")
    hidden = np.zeros(train.n_labels, bool)
    hidden[generator(seed, NAME).permutation(train.n_labels)[: int(SHARE * train.n_labels)]] = True
    rest = replace(train, Y=_only(train.Y, ~hidden))
    told = Vectorizer(threads=threads).fit(train.texts).transform([str(name) for name in names])
    rows = []
    for way in WAYS:
        began = time.process_time()
        if way == WAYS[2]:
            top = _by_words(data, told)
        else:
            model.set_params(unseen_labels=way == WAYS[0])
            more = {"label_features": told} if way == WAYS[0] else {}
            top = model.fit(rest.X, rest.Y, **more).predict(data.test.X, k=100)
        seconds = round(time.process_time() - began, 1)
        found = {
            kind: _found(data, top, kept) for kind, kept in zip(KINDS, (hidden, hidden | True, ~hidden), strict=True)
        }
        rows.append({"way": way, "held-out labels": int(hidden.sum()), "by kind": found, "processor seconds": seconds})
    return rows


def _only(Y: Any, kept: Array) -> Any:
    return sp.csr_array(for_scipy(Y) @ sp.diags_array(kept.astype(np.float32)))


def _found(data: Prepared, top: TopK, kept: Array) -> dict[str, float]:
    """Quality where only some labels count as right, on rows that have one of them; of labels without rows alone,
    and of those with rows, the others still take places of the answer."""
    Y = _only(data.test.Y, kept)
    some = np.flatnonzero(np.diff(Y.indptr))
    answers = TopK(top.labels[some], top.scores[some], top.n_labels)
    found = evaluate(Y[some], answers, ["P@1", "R@10", "R@100"])
    return {"rows": len(some), **{name: round(float(value), 2) for name, value in found.items()}}


def _by_words(data: Prepared, told: Any) -> TopK:
    """The cosine of a row's words with those of each name."""
    rows, names = (for_scipy(unit_rows(as_features(Z))) for Z in (data.test.X, told))
    return TopK.from_csr(sp.csr_array(rows @ names.T), 100)
