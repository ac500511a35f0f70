"""Makes the golden models: `python tests/golden/make.py [NAME …]` adds those that are not there yet.

A golden model is never made again: it stands for models that users have. Where a later version cannot answer with one
any more, its expected.json says so: `{"refused": "part of the message"}`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import xtrellis as xt

MODELS = Path(__file__).parent / "models"
K = 3
TEXTS = [
    "boil pasta in water",
    "bake bread in the oven",
    "salt the water for pasta",
    "knead dough for bread",
    "ice cream",
]
LABELS = [["pasta"], ["bread", "baking"], ["pasta", "salt"], ["bread"], ["dessert"]]


def data() -> xt.TrainingData:
    """60 rows, 14 features, 9 labels, one of them without rows: small, and the same for ever."""
    rng = np.random.default_rng(7)
    Y = (rng.random((60, 9)) < 0.25).astype(np.float32)
    Y[:, 8] = 0
    X = np.round(Y @ rng.random((9, 14)) * (rng.random((60, 14)) < 0.6), 2)
    return xt.TrainingData.of(X, Y)


def queries() -> Any:
    return data().select(range(6)).X


def _tree(**params: Any) -> xt.LinearTree:
    index = params.pop("index", xt.BalancedTree(arity=2, max_leaf=3))
    return xt.LinearTree(index=index, seed=1, threads=1, **params)


def _tagger(model: xt.Model) -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(ngrams=2, char_ngrams="3-4", threads=1), model).fit(TEXTS * 4, LABELS * 4)


def _names() -> xt.Tagger:
    """With rows whose names are wrong, so that there is something to learn."""
    labels = LABELS * 30 + (LABELS[1:] + LABELS[:1]) * 10
    return xt.Tagger(xt.Vectorizer(threads=1), xt.NameMatcher(seed=1, threads=1)).fit(TEXTS * 40, labels)


def _witnesses() -> xt.Tagger:
    """Probabilities are learned twice: by the blend of the model, and by the tagger."""
    labels = LABELS * 30 + (LABELS[1:] + LABELS[:1]) * 10
    models = [_tree(), xt.Neighbors(threads=1), xt.NameMatcher(seed=1, threads=1)]
    model = xt.Ensemble(models=models, combine="learned", candidates=4, score_missing=False, seed=1, threads=1)
    tagger = xt.Tagger(xt.Vectorizer(threads=1), model).fit(TEXTS * 40, labels)
    names = sorted({name for row in labels for name in row})
    Y = np.array([[name in row for name in names] for row in LABELS * 20], np.float32)
    return tagger.calibrate(xt.Dataset(None, Y, texts=TEXTS * 20, label_names=names))


def _vocabulary() -> xt.Tagger:
    """Labels by their ids, below what is broader, in two languages."""
    names = sorted({name for row in LABELS for name in row})
    labels = [xt.Label(f"id{i}", {"en": name, "xx": name[::-1]}, broader=("top",)) for i, name in enumerate(names)]
    vocabulary = xt.Vocabulary([xt.Label("top", {"en": "everything"}), *labels])
    tree = _tree(index=xt.GivenTree())
    made = xt.Tagger(xt.Vectorizer(threads=1), tree, vocabulary=vocabulary, language="xx")
    return made.fit(TEXTS * 4, LABELS * 4)


def _living() -> xt.Tagger:
    """Has learned on, and its labels have changed since: one in the arrays, one in the journal alone."""
    tagger = xt.Tagger(xt.Vectorizer(threads=1), _tree(), keep_rows=True).fit(TEXTS * 4, LABELS * 4)
    tagger.update(["salt the ice", "ice in the oven"], [["salt"], ["oven"]])
    return tagger.merge("baking", into="bread").retire("dessert").rename({"pasta": "noodles"}).forget([3])


def _encoder() -> xt.BagEncoder:
    return xt.BagEncoder(dim=6)


NEURAL: dict[str, Any] = {"seed": 1, "threads": 1, "device": "cpu"}
MAKE: dict[str, Callable[[], Any]] = {
    "tagger": lambda: _tagger(_tree()),
    "vocabulary": _vocabulary,
    "linear-float16": lambda: _tree().fit(data()),
    "linear-float32": lambda: _tree(storage="float32", transform="sigmoid").fit(data()),
    "linear-int8": lambda: _tree(storage="int8", n_trees=2).fit(data()),
    "linear-overlap-mean": lambda: _tree(overlap=xt.Overlap(merge="mean")).fit(data()),
    "linear-overlap-max": lambda: _tree(overlap=xt.Overlap(merge="max", max_cluster_size=4), beam=2).fit(data()),
    "linear-interpolated": lambda: _tree(index=xt.InterpolatedTree(max_leaf=2, tradeoff=2.0)).fit(data()),
    "linear-given": lambda: _tree(index=xt.GivenTree(parents=[9, 9, 9, 10, 10, 10, 11, 11, 11, -1, -1, -1])).fit(
        data()
    ),
    "names": _names,
    "neighbors": lambda: xt.Neighbors(threads=1).fit(data()),
    "witnesses": _witnesses,
    "living": _living,
    "softmax": lambda: xt.SoftmaxTree(dim=4, epochs=2, seed=1, threads=1).fit(data()),
    "glas": lambda: xt.Glas(dim=5, epochs=2, **NEURAL).fit(data()),
    "glas-codes": lambda: xt.Glas(dim=5, epochs=1, search="ann", hidden="linear", **NEURAL).fit(data()),
    "glas-prior": lambda: xt.Glas(dim=5, epochs=2, hidden="relu-only", prior=-0.05, **NEURAL).fit(data()),
    "elias": lambda: xt.Elias(encoder=_encoder(), n_clusters=4, epochs=2, **NEURAL).fit(data()),
    "encoder-ova": lambda: xt.EncoderOvA(encoder=_encoder(), epochs=2, **NEURAL).fit(data()),
    "x-transformer": lambda: xt.XTransformer(encoder=_encoder(), tree=_tree(), epochs=1, **NEURAL).fit(data()),
    "reranked": lambda: xt.Reranked(base=_tree(), candidates=5, min_leaf=5, seed=1, threads=1).fit(data()),
    "ensemble": lambda: xt.Ensemble(models=[_tree(), _tree()], combine="calibrated", seed=1, threads=1).fit(data()),
}


def answers(model: Any) -> xt.TopK:
    """What a golden model is asked."""
    return model.predict(TEXTS if isinstance(model, xt.Tagger) else queries(), k=K)


def main() -> None:
    for name in sys.argv[1:] or MAKE:
        folder = MODELS / name
        if folder.exists():
            continue
        model = MAKE[name]()
        model.save(folder / "model")
        top = answers(xt.load(folder / "model"))
        expected = {"labels": top.labels.tolist(), "scores": [[float(s) for s in row] for row in top.scores]}
        (folder / "expected.json").write_text(json.dumps({"version": xt.__version__, **expected}) + "\n")
        print(name, sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()))


if __name__ == "__main__":
    main()
