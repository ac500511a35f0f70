"""The setting that the paper has for fastText: words and pairs of words as they are counted, those of one text left
out, 128 dimensions, 200 passes, a first step of 0.5. fastText leaves out rare words only, and gives pairs a number by a
hash that some share; here each pair of two texts has its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import InputError
from ...data import Dataset
from ...index import HuffmanTree, Index, InterpolatedTree
from ...metrics import evaluate
from ...softmax import SoftmaxTree
from ...text import Vectorizer
from ..base import Run
from ..data import Bench
from .factors import KS, name_of, native_latency

SETS = ("cooking", "stackexchange")  # small ones: 200 passes take long
TRADEOFFS = (0, 0.25, 0.5, 1, 2, 16, math.inf)
SETTING: dict[str, Any] = {"dim": 128, "epochs": 200, "learning_rate": 0.5, "weighting": "weighted"}
WORDS: dict[str, Any] = {"ngrams": 2, "min_df": 2, "idf": False, "normalize": False, "min_token_length": 1}


def measure_fasttext(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """A model over every tree, Huffman's among them."""
    data = bench.data(run["data"])
    words = Vectorizer(threads=bench.threads, **WORDS).fit(_texts(data.train))
    X, asked = words.transform(_texts(data.train)), words.transform(_texts(data.test))
    trees: dict[str, Index] = {"huffman": HuffmanTree()}
    trees |= {name_of(t): InterpolatedTree(tradeoff=t, arity=2, max_leaf=1) for t in TRADEOFFS}
    models = {
        name: SoftmaxTree(index=index, seed=run["seed"], threads=bench.threads, **SETTING).fit(X, data.train.Y)
        for name, index in trees.items()
    }
    native = {k: native_latency(models, asked, k=k) for k in KS}
    rows = []
    for name, model in models.items():
        wanted = ["P@1", "P@3", "P@5", "depth@1", "depth@3"]
        found = evaluate(data.test.Y, model.predict(asked, k=5), wanted, depth=np.asarray(model.tree.label_depths))
        row: dict[str, Any] = {"tradeoff": name, **{key: round(float(value), 4) for key, value in found.items()}}
        rows.append(row | {f"native@{k}": native[k][name] for k in KS})
    return rows


def _texts(part: Dataset) -> Any:
    if part.texts is None:
        raise InputError("the part fasttext counts words: it needs data with texts")
    return part.texts
