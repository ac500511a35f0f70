"""PECOS models of every shape, each saved with rows and PECOS's own predictions. Runs in the peers' environment."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from pecos.utils.cluster_util import ClusterChain
from pecos.xmc import HierarchicalMLModel, Indexer, LabelEmbeddingFactory, MLModel
from pecos.xmc.xlinear.model import XLinearModel

N, FEATURES, LABELS = 600, 400, 900


def save(
    work: Path, name: str, model: Any, rows: Any, *, beam: int = 5, k: int = 10, predict_only: bool = True
) -> None:
    folder = work / name
    folder.mkdir()
    model.save(str(folder / "model"))
    predict(folder, rows, beam=beam, k=k, predict_only=predict_only)


def predict(folder: Path, rows: Any, *, beam: int, k: int, predict_only: bool = True) -> None:
    model = XLinearModel.load(str(folder / "model"), is_predict_only=predict_only)
    found = model.predict(rows, beam_size=beam, only_topk=k, threads=1)
    sp.save_npz(folder / "predictions.npz", found)
    sp.save_npz(folder / "rows.npz", rows)
    np.savez(folder / "settings.npz", beam=beam, k=k)


def small_models(work: Path) -> None:
    random = np.random.default_rng(0)
    X = sp.random(N, FEATURES, 0.05, "csr", np.float32, random)
    X.data -= 0.4
    Y = sp.random(N, LABELS, 0.005, "csr", np.float32, random)
    Y.data[:] = 1
    rows = sp.vstack([X, sp.csr_matrix((3, FEATURES), dtype=np.float32)]).tocsr()  # rows without features, too
    labels = LabelEmbeddingFactory.create(Y, X, method="pifa")

    def index(splits: int, leaf: int) -> Any:
        return Indexer.gen(labels, indexer_type="hierarchicalkmeans", nr_splits=splits, max_leaf_size=leaf, threads=1)

    for post in ("l2-hinge", "l3-hinge", "sigmoid"):
        made = XLinearModel.train(X, Y, C=index(4, 20), threads=1, pred_kwargs={"post_processor": post})
        save(work, f"4-way, {post}", made, rows)
    save(work, "binary, deep", XLinearModel.train(X, Y, C=index(2, 5), threads=1), rows, beam=10)
    save(work, "wide clusters", XLinearModel.train(X, Y, C=index(2, 500), threads=1), rows, k=700)
    save(work, "one-vs-all", XLinearModel.train(X, Y, threads=1), rows)
    save(work, "no bias", XLinearModel.train(X, Y, C=index(8, 30), bias=-1.0, threads=1), rows[:N])
    save(work, "bias 2.5", XLinearModel.train(X, Y, C=index(8, 30), bias=2.5, threads=1), rows)
    save(work, "large beam", XLinearModel.train(X, Y, C=index(8, 30), threads=1), rows, beam=200, k=LABELS)

    full = XLinearModel.train(X, Y, C=index(8, 30), threads=1)
    last = full.model.model_chain[-1]
    C = last.C.tolil()
    C[::7] = 0  # every seventh label in no cluster
    chain = [*full.model.model_chain[:-1], MLModel(W=last.W, C=C.tocsc(), bias=last.bias, pred_params=last.pred_params)]
    save(work, "labels in no cluster", XLinearModel(HierarchicalMLModel(chain)), rows)

    chain = full.model.model_chain[1:]  # a model that starts at the second level: PECOS enters every cluster
    save(work, "starts below the root", XLinearModel(HierarchicalMLModel(list(chain))), rows, predict_only=False)
    one_each = ClusterChain([sp.identity(1, np.float32, "csc"), sp.csc_matrix(np.ones((LABELS, 1), np.float32))])
    save(work, "chain of single nodes", XLinearModel.train(X, Y, C=one_each, threads=1), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--rows", type=Path)
    args = parser.parse_args()
    if args.model is None:
        small_models(args.work)
        return
    folder = args.work / args.model.name
    shutil.copytree(args.model, folder / "model")
    predict(folder, sp.load_npz(args.rows).tocsr().astype(np.float32), beam=10, k=10)


if __name__ == "__main__":
    main()
