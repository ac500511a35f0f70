"""PECOS model folders made by hand, and a plain NumPy reading of what PECOS predicts with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

META = {"__meta__": {"class_fullname": "pecos.xmc.base###MLModel"}, "model": "MLModel"}
POST = {
    "l2-hinge": lambda m: np.exp(-(np.maximum(0, 1 - m) ** 2)),
    "l3-hinge": lambda m: np.exp(-(np.maximum(0, 1 - m) ** 3)),
    "sigmoid": lambda m: 1 / (1 + np.exp(-m)),
}


@dataclass
class World:
    """Dense weights (features + bias × children) and the parent of each child (-1: none), level by level."""

    weights: list[Any]
    parents: list[Any]
    bias: float = 1.0
    post: str = "l3-hinge"

    @classmethod
    def random(cls, sizes: list[int], *, n_features: int = 30, bias: float = 1.0, post: str = "l3-hinge") -> World:
        random = np.random.default_rng(len(sizes) + sum(sizes))
        rows = n_features + (bias > 0)
        weights, parents = [], []
        for above, size in zip([1, *sizes], sizes, strict=False):
            # Margins stay below 1 and no two are alike: nothing here depends on how equal scores are ordered.
            dense = random.normal(size=(rows, size)) * 0.2 * (random.random((rows, size)) < 0.3)
            if bias > 0:
                dense[-1] = random.uniform(-0.5, 0, size) / bias
            weights.append(dense.astype(np.float32))
            parents.append(random.permutation(np.arange(size) % above))
        return cls(weights, parents, bias, post)

    def save(self, folder: Path, *, beam: int = 4, dtype: Any = np.float32) -> Path:
        """As PECOS lays it out."""
        ranker = folder / "ranker"
        n_features = len(self.weights[0]) - (self.bias > 0)
        ranker.mkdir(parents=True)
        write_json(folder / "param.json", {"__meta__": {"class_fullname": "pecos.xmc.xlinear.model###XLinearModel"}})
        about = {"model": "HierarchicalMLModel", "depth": len(self.weights), "nr_features": n_features}
        write_json(ranker / "param.json", {**about, "nr_labels": len(self.parents[-1])})
        above = 1
        for d, (W, parents) in enumerate(zip(self.weights, self.parents, strict=True)):
            level = ranker / f"{d}.model"
            level.mkdir()
            has = np.flatnonzero(parents >= 0)
            C = sp.csc_matrix((np.ones(len(has), np.float32), (has, parents[has])), shape=(len(parents), above))
            sp.save_npz(level / "W.npz", sp.csc_matrix(W.astype(dtype)), compressed=False)
            sp.save_npz(level / "C.npz", C, compressed=False)
            settings = {"only_topk": 20 if d == len(self.weights) - 1 else beam, "post_processor": self.post}
            write_json(level / "param.json", {**META, "bias": self.bias, "pred_kwargs": settings})
            above = len(parents)
        return folder

    def predict(self, X: Any, beam: int, k: int) -> tuple[Any, Any]:
        """Labels and scores, best first, -1 and 0 for none: one row, one level at a time, everything in float64."""
        X = np.asarray(X, np.float64)
        if self.bias > 0:
            X = np.hstack([X, np.full((len(X), 1), self.bias)])
        labels, scores = np.full((len(X), k), -1), np.zeros((len(X), k))
        for i, x in enumerate(X):
            reached = {0: 1.0}
            for d, (W, parents) in enumerate(zip(self.weights, self.parents, strict=True)):
                own = POST[self.post](x @ W.astype(np.float64))
                found = {c: own[c] * reached[p] for c, p in enumerate(parents.tolist()) if p in reached}
                best = sorted(found, key=lambda c: (-found[c], c))
                reached = {c: found[c] for c in best[: k if d == len(self.weights) - 1 else beam]}
            labels[i, : len(reached)], scores[i, : len(reached)] = list(reached), list(reached.values())
        return labels, scores


def write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1))


def change_json(path: Path, **changes: Any) -> None:
    write_json(path, json.loads(path.read_text()) | changes)
