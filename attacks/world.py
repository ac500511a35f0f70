"""What can be called: small data, and for each argument of each function a value that is right."""

from __future__ import annotations

import copy
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import xtrellis as xt

from .data import dataset
from .readers import check as check_dataset
from .store import GOLDEN, TEXTS, check_top
from .targets import Target, check_csr, same

LABELS = [["pasta"], ["ice"], [], ["bread", "dough"]]


class World:
    """Small data and small fitted models, and what can be asked of them."""

    def __init__(self, folder: Path) -> None:
        self.quick = bool(os.environ.get("ATTACK_QUICK"))
        self.out = folder / "out"
        rng = np.random.default_rng(3)
        Y = (rng.random((24, 5)) < 0.3).astype(np.float32)
        Y[0] = 1
        X = np.round(Y @ rng.random((5, 6)) * (rng.random((24, 6)) < 0.7), 2).astype(np.float32)
        self.X, self.Y = sp.csr_array(X), sp.csr_array(Y)
        self.data = dataset(self.X, self.Y, label_names=list("abcde"))
        self.spoken = dataset(None, np.eye(4, 3), texts=TEXTS, label_names=["p", "q", "r"])
        self.names = [f"label {i}" for i in range(5)]
        self.stored = folder / "stored"
        xt.write(self.data, self.stored / "data.txt")
        xt.write(self.spoken, self.stored / "data.csv")
        self.tree().fit(self.X, self.Y).save(self.stored / "model")

    def tree(self, **params: Any) -> xt.LinearTree:
        return xt.LinearTree(index=xt.BalancedTree(arity=2, max_leaf=2), threads=1, **params)

    def clean(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    # ── what can be called ──────────────────────────────────────────────────────────────────────────────────────────

    def targets(self) -> list[Target]:
        return [*self.functions(), *self.data_methods(), *self.texts()]

    def functions(self) -> list[Target]:
        X, Y, top = (
            self.X,
            self.Y,
            xt.TopK(np.array([[0, 1], [2, -1]], np.int32), np.array([[1, 0.5], [1, 0]], np.float32), 5),
        )
        truth = sp.csr_array(np.eye(2, 5, dtype=np.float32))
        numbers = {
            "train_labels": Y,
            "dataset": None,
            "propensity": (0.5, 1.5),
            "weights": None,
            "skip_empty": False,
            "drop": None,
            "depth": None,
        }
        counts = {
            "n_rows": 20,
            "n_labels": 6,
            "n_features": 30,
            "labels_per_row": 2.0,
            "features_per_row": 5,
            "zipf": 1.0,
            "noise": 0.3,
            "seed": 0,
            "first_row": 0,
        }
        read = {
            "path": self.stored / "data.csv",
            **dict.fromkeys(("format", "part", "labels", "text_column", "label_column", "label_separator", "threads")),
            "unlabelled": False,
        }
        numeric = {
            "path": self.stored / "data.txt",
            **dict.fromkeys(("format", "part", "labels", "index_base", "n_features", "n_labels", "threads")),
        }
        write = {"dataset": self.data, "path": self.out / "d.txt", "format": None, "part": None, "index_base": None}
        spoken = {
            "dataset": self.spoken,
            "path": self.out / "d.csv",
            "format": None,
            "text_column": None,
            "label_column": None,
            "label_separator": None,
        }
        tradeoff = {
            "model": xt.LinearTree(index=xt.InterpolatedTree(max_leaf=2), threads=1),
            "X": X,
            "Y": Y,
            "max_microseconds": None,
            "max_depth": None,
            "k": 1,
            "tradeoffs": [0.5],
            "holdout": 0.3,
            "max_rows": 50,
            "seed": 0,
        }
        return [
            Target("read", xt.read, read, check_dataset),
            Target("read", xt.read, numeric, check_dataset),
            Target("write", xt.write, write),
            Target("write", xt.write, spoken),
            Target("synthetic", xt.synthetic, counts, check_dataset),
            Target(
                "load",
                lambda path, verify, kind: xt.load(path, verify=verify, kind=kind),
                {"path": self.stored / "model", "verify": False, "kind": None},
            ),
            Target("preset", lambda name, seed: xt.preset(name, seed=seed), {"name": "bonsai", "seed": 0}),
            Target(
                "preset",
                lambda name, index__arity: xt.preset(name, index__arity=index__arity),
                {"name": "xr-linear", "index__arity": 2},
            ),
            Target(
                "evaluate", xt.evaluate, {"Y_true": truth, "predictions": top, "metrics": ["P@1", "PSP@1"], **numbers}
            ),
            Target("evaluate", xt.evaluate, {"Y_true": truth, "predictions": truth, "metrics": "P@1", **numbers}),
            Target("evaluate", lambda depth: xt.evaluate(truth, top, "depth@1", depth=depth), {"depth": np.arange(5)}),
            Target(
                "evaluate", lambda weights: xt.evaluate(truth, top, "PSP@1", weights=weights), {"weights": np.ones(5)}
            ),
            Target(
                "metrics.per_row", xt.metrics.per_row, {"Y_true": truth, "predictions": top, "metric": "P@1", **numbers}
            ),
            Target(
                "metrics.bootstrap",
                xt.metrics.bootstrap,
                {"values": [1.0, 2.0, 2.0], "seed": 0, "n": 20, "confidence": 0.9},
            ),
            Target("metrics.Metric", lambda name: xt.metrics.Metric.parse(name), {"name": "P@1"}),
            Target("choose_tradeoff", xt.choose_tradeoff, tradeoff),
            Target(
                "concatenate_features",
                lambda one, two, unit, weights: xt.concatenate_features(one, two, unit=unit, weights=weights),
                {"one": X, "two": X, "unit": True, "weights": [1.0, 2.0]},
                check_csr,
            ),
            Target("entangle", xt.entangle, {"dataset": self.data, "k": 2, "mode": "medium", "seed": 0}),
            Target("fuse", xt.fuse, {"dataset": self.data, "fused": np.array([0, 0, 1, 1, 2])}, check_dataset),
            Target("import_pecos", xt.import_pecos, {"path": self.stored, "transform": None}),
            Target("datasets.load", xt.datasets.load, {"name": "no such data"}),
            Target("data.describe", xt.data.describe, {"dataset": self.data}),
            Target(
                "data.align",
                xt.data.align,
                {"dataset": self.data, "names": ["a", "b", "z"], "unknown": "drop"},
                check_dataset,
            ),
            Target("data.split_rows", xt.data.split_rows, {"n_rows": 9, "holdout": 0.3, "seed": 1}),
            Target("data.find_format", xt.data.find_format, {"path": self.stored / "data.csv"}),
            Target("store.describe", xt.store.describe, {"path": self.stored / "model", "verify": True}),
            Target("store.save", xt.store.save, {"obj": self.tree().fit(X, Y), "path": self.out / "m"}),
            Target("store.discard", xt.store.discard, {"path": self.out / "nothing"}),
        ]

    def data_methods(self) -> list[Target]:
        X, Y, data = self.X, self.Y, self.data
        top = xt.TopK(np.array([[0, 1], [2, -1]], np.int32), np.array([[1, 0.5], [1, 0]], np.float32), 5)
        texts = [f"text {i}" for i in range(24)]
        both = {"X": X, "Y": Y, "texts": texts, "label_names": self.names}

        def trained(**given: Any) -> None:
            check_top(self.tree().fit(xt.TrainingData(**given)).predict(X, k=3), 24)

        return [
            Target(
                "Dataset",
                xt.Dataset,
                {
                    **both,
                    "feature_names": list("abcdef"),
                    "name": "x",
                    "excluded": Y[:, [4, 3, 2, 1, 0]],
                    "dropped_labels": 0,
                },
                check_dataset,
            ),
            Target("Dataset.select", data.select, {"rows": [0, 2]}, check_dataset),
            Target("Dataset.split", data.split, {"holdout": 0.2, "seed": 0}),
            Target("Dataset.labels_of", data.labels_of, {"row": 1}, allowed=(IndexError,)),
            Target("TrainingData.of", xt.TrainingData.of, {**both, "label_features": np.eye(5)}),
            Target("TrainingData", trained, {**both, "label_features": None}),
            Target(
                "TopK",
                lambda labels, scores, n_labels: xt.evaluate(np.eye(2, 5), xt.TopK(labels, scores, n_labels), "P@1"),
                {"labels": top.labels, "scores": top.scores, "n_labels": 5},
            ),
            Target(
                "TopK",
                lambda labels, scores, n_labels: xt.TopK(labels, scores, n_labels).to_csr(),
                {"labels": top.labels, "scores": top.scores, "n_labels": 5},
                check_csr,
            ),
            Target("TopK.cut", top.cut, {"k": 1}),
            Target(
                "TopK.from_csr", xt.TopK.from_csr, {"scores": Y, "k": 2}, lambda answer: check_top(answer, len(answer))
            ),
            Target(
                "LabelTree",
                xt.LabelTree,
                {"offsets": np.array([0, 2, 4]), "children": np.array([1, ~0, ~1, ~2]), "n_labels": 3},
            ),
            Target(
                "LabelTree.from_parents",
                xt.LabelTree.from_parents,
                {"node_parents": [-1, 0], "labels": [0, 1, 2], "label_parents": [0, 1, 1], "n_labels": 3},
            ),
        ]

    def texts(self) -> list[Target]:
        tagger = xt.load(GOLDEN / "tagger" / "model")
        plain = xt.Tagger.of_model(self.tree().fit(self.X, self.Y), self.names)
        expected = tagger.predict(TEXTS, k=2)
        vectorizer = xt.Vectorizer(threads=1).fit(TEXTS)

        def unchanged() -> None:
            same(tagger.predict(TEXTS, k=2), expected, "the tagger")

        def fresh() -> xt.Tagger:
            return xt.Tagger(xt.Vectorizer(threads=1), self.tree())

        return [
            Target("Tagger", xt.Tagger, {"vectorizer": None, "model": self.tree()}),
            Target("Tagger.of_model", xt.Tagger.of_model, {"model": plain.model, "label_names": self.names}),
            Target(
                "Tagger.fit",
                lambda **given: fresh().fit(**given),
                {"data": TEXTS, "labels": LABELS, "label_text": False, "checkpoint": self.out / "work"},
            ),
            Target("Tagger.fit", lambda **given: fresh().fit(**given), {"data": self.spoken, "label_text": True}),
            Target(
                "Tagger.fit again",
                lambda **given: copy.copy(tagger).fit(**given),
                {"data": TEXTS, "labels": LABELS},
                after=unchanged,
            ),
            Target(
                "Tagger.prepare",
                lambda **given: fresh().prepare(**given),
                {"data": TEXTS, "labels": LABELS, "label_text": False},
            ),
            Target("Tagger.estimate", lambda **given: fresh().estimate(**given), {"data": TEXTS, "labels": LABELS}),
            Target("Tagger.tag", tagger.tag, {"text": "pasta", "k": 2, "threshold": None}, after=unchanged),
            Target("Tagger.tag_many", tagger.tag_many, {"texts": TEXTS, "k": 2, "threshold": 0.1}, after=unchanged),
            Target(
                "Tagger.predict",
                tagger.predict,
                {"rows": TEXTS, "k": 2},
                lambda answer: check_top(answer, len(answer)),
                unchanged,
            ),
            Target(
                "Tagger.predict", plain.predict, {"rows": self.X, "k": 2}, lambda answer: check_top(answer, len(answer))
            ),
            Target("Tagger.named", tagger.named, {"top": expected, "threshold": 0.1}),
            Target("Tagger.evaluate", tagger.evaluate, {"dataset": self.spoken, "metrics": ["P@1"]}),
            Target(
                "Tagger.explain",
                tagger.explain,
                {"text": "pasta", "label": "pasta"},
                lambda answer: answer.to_dict(),
                unchanged,
            ),
            Target("Tagger.inverse_propensity", tagger.inverse_propensity, {"extra": 0}),
            Target("Tagger.save", tagger.save, {"path": self.out / "t"}, after=unchanged),
            Target("Vectorizer.fit", lambda texts: xt.Vectorizer(threads=1).fit(texts), {"texts": TEXTS}),
            Target(
                "Vectorizer.fit_transform",
                lambda texts: xt.Vectorizer(char_ngrams="2-3", fold_accents=True).fit_transform(texts),
                {"texts": TEXTS},
                check_csr,
            ),
            Target("Vectorizer.transform", vectorizer.transform, {"texts": TEXTS}, check_csr),
            Target("Vectorizer.transform_one", vectorizer.transform_one, {"text": TEXTS[0]}, check_csr),
            Target("Vectorizer.explain", vectorizer.explain, {"text": TEXTS[0]}),
        ]
