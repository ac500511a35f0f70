"""From strings to names, in a process of its own: `python run_texts.py CONFIG FOLDER --threads 2` prints a JSON object.

FOLDER holds train.jsonl and test.jsonl ({"text", "labels"} a line). CONFIG is `omikuji` or the name of a preset:

- `omikuji`: scikit-learn's TfidfVectorizer with pairs of words and `min_df=2`, then omikuji as Annif asks it (Bonsai:
  100-way, unbalanced, depth 3; rows as lists of pairs, one by one). Annif's own tokenizer, which is slower than
  scikit-learn's, is left out, and so are its checks.
- a preset: `xt.Tagger` with the same words.

Texts whose row is empty get no answer. Each timing is the least of some rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

K, SINGLES, BATCH = 10, 500, 10_000


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row["text"] for row in rows], [row["labels"] for row in rows]


class Omikuji:
    """What an Annif project with an omikuji backend does with a text."""

    def __init__(self, config: str, threads: int) -> None:
        import omikuji
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.threads, self.version = threads, omikuji.__version__
        self.vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, dtype=np.float32)

    def fit(self, texts: list[str], labels: list[list[str]]) -> None:
        from omikuji import Model

        X = self.vectorizer.fit_transform(texts)
        self.names = sorted({name for row in labels for name in row})
        ids = {name: i for i, name in enumerate(self.names)}
        kept = [i for i in range(X.shape[0]) if X.indptr[i] < X.indptr[i + 1]]  # it refuses rows without features
        settings = Model.default_hyper_param()
        settings.cluster_k, settings.cluster_balanced, settings.max_depth = 100, False, 3
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(f"{len(kept)} {X.shape[1]} {len(self.names)}\n")
            for i in kept:
                at = slice(X.indptr[i], X.indptr[i + 1])
                values = " ".join(f"{j}:{v:.6f}" for j, v in zip(X.indices[at], X.data[at], strict=True))
                file.write(",".join(str(ids[name]) for name in labels[i]) + " " + values + "\n")
            file.flush()
            self.model = Model.train_on_data(file.name, settings, self.threads)
        self.model.init_prediction_thread_pool(self.threads)
        self.model.densify_weights(0.1)

    def many(self, texts: list[str]) -> list[list[str]]:
        X = self.vectorizer.transform(texts)
        out = []
        for i in range(X.shape[0]):
            at = slice(X.indptr[i], X.indptr[i + 1])
            pairs = list(zip(X.indices[at], X.data[at], strict=True))
            found = self.model.predict(pairs, top_k=K) if pairs else []
            out.append([self.names[label] for label, _ in found])
        return out

    def one(self, text: str) -> list[str]:
        return self.many([text])[0]


class Ours:
    """A tagger."""

    def __init__(self, config: str, threads: int) -> None:
        import xtrellis as xt

        self.version = xt.__version__
        name, _, trees = config.partition("*")  # bonsai*3: three trees
        model = xt.preset(name, seed=0, threads=threads)
        if trees:
            model.set_params(n_trees=int(trees))
        self.tagger = xt.Tagger(xt.Vectorizer(ngrams=2, min_df=2, threads=threads), model)

    def fit(self, texts: list[str], labels: list[list[str]]) -> None:
        self.tagger.fit(texts, labels)

    def many(self, texts: list[str]) -> list[list[str]]:
        return [[tag.label for tag in tags] for tags in self.tagger.tag_many(texts, k=K)]

    def one(self, text: str) -> list[str]:
        return [tag.label for tag in self.tagger.tag(text, k=K)]


def measure(engine: Any, folder: Path, rounds: int) -> dict[str, Any]:
    began = time.perf_counter()
    engine.fit(*read(folder / "train.jsonl"))
    trained = time.perf_counter() - began
    texts, right = read(folder / "test.jsonl")
    batch, took = texts[:BATCH], float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        found = engine.many(batch)
        took = min(took, time.perf_counter() - began)
    each = np.full(min(SINGLES, len(texts)), np.inf)
    for _ in range(rounds):
        for i in range(len(each)):
            start = time.perf_counter_ns()
            engine.one(texts[i])
            each[i] = min(each[i], (time.perf_counter_ns() - start) / 1e3)
    hits = {k: sum(len(set(f[:k]) & set(r)) for f, r in zip(found, right, strict=False)) for k in (1, 5)}
    return {
        "version": engine.version, "train_seconds": round(trained, 2), "batch_us": round(1e6 * took / len(batch), 2),
        "p50_us": round(float(np.percentile(each, 50)), 1), "p99_us": round(float(np.percentile(each, 99)), 1),
        "batch": len(batch), **{f"P@{k}": round(100 * n / (k * len(batch)), 2) for k, n in hits.items()},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines that print do it elsewhere
    engine = (Omikuji if args.config == "omikuji" else Ours)(args.config, args.threads)
    answer.write(json.dumps(measure(engine, args.folder, args.rounds)) + "\n")


if __name__ == "__main__":
    main()
