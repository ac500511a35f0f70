"""PECOS behind a plain FastAPI, as people write it: `serve_pecos.py TRAIN.jsonl PORT`; says `ready` when it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp
import uvicorn
from fastapi import FastAPI
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from pydantic import BaseModel
from sklearn.feature_extraction.text import TfidfVectorizer


class Asked(BaseModel):
    text: str
    k: int = 5


def trained(path: Path):
    """What lies beside the file, or is put there now."""
    folder = path.with_suffix(".pecos")
    if not (folder / "beside").exists():
        train(path, folder)
    model = XLinearModel.load(str(folder), is_predict_only=True, weight_matrix_type="HASH_CHUNKED")
    return *joblib.load(folder / "beside"), model


def train(path: Path, folder: Path) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    names = sorted({name for row in rows for name in row["labels"]})
    numbers = {name: i for i, name in enumerate(names)}
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32)
    X = sp.csr_matrix(vectorizer.fit_transform([row["text"] for row in rows]))
    pairs = [(i, numbers[name]) for i, row in enumerate(rows) for name in row["labels"]]
    Y = sp.csr_matrix((np.ones(len(pairs), np.float32), np.array(pairs).T), (len(rows), len(names)))
    found = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=2)
    chain = Indexer.gen(found, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=2, seed=0)
    XLinearModel.train(X, Y, C=chain, threads=2, threshold=0.1).save(str(folder))
    joblib.dump((vectorizer, names), folder / "beside")


def main() -> None:
    vectorizer, names, model = trained(Path(sys.argv[1]))
    app = FastAPI()

    @app.post("/tag")
    def tag(asked: Asked):
        row = sp.csr_matrix(vectorizer.transform([asked.text]))
        found = model.predict(row, beam_size=10, only_topk=asked.k, threads=1)
        best = np.argsort(-found.data, kind="stable")
        return {"tags": [{"label": names[found.indices[i]], "score": float(found.data[i])} for i in best]}

    print("ready", flush=True)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
