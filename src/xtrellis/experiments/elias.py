"""What the ELIAS paper (Gupta et al. 2022) measured: both stages beside brute force and trees, and what the index is.

Everything is measured on the test part; the training itself holds rows out to choose its epoch by. The encoder is the
BagEncoder, where the paper fine-tunes BERT: gains of the index can be compared with the paper's, absolute figures not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import TopK
from ..catalog import preset
from ..linear import LinearTree
from ..model import Model, Resumes
from ..neural import BagEncoder, Elias, EncodedModel, n_clusters
from ..rank import Ensemble, Ranker, Reranked
from ..store import Storable
from .base import Experiment, Run
from .data import Bench, Prepared
from .elias_parts.index import index_facts, recall_at, tree_costs
from .elias_parts.page import METRICS, OTHERS, STEPS, page
from .elias_parts.unseen import DATA as NAMED
from .elias_parts.unseen import NAME as UNSEEN
from .elias_parts.unseen import unseen
from .measure import quality, recall_by_decile

Made = Callable[..., Model]  # a preset by name, with parameters

SECOND = "stage 2 and after"
SMALL: dict[str, Any] = {"encoder": BagEncoder(dim=128), "epochs": 8, "shortlist_size": 500}  # models of a small run
SWEPT: dict[str, tuple[Any, ...]] = {  # one by one, beside the preset
    "shortlist_weight": (0.0, 0.05, 1.0),  # λ
    "edges_per_cluster": (1, 3, 30),  # κ as multiples of the labels a cluster has
    "shortlist_size": (500,),  # K
    "cluster_scale": (3.0, 30.0),  # α
    "edge_scale": (2, 5),  # β as multiples of the labels a cluster has
    "edge_start": ("random",),
    "first_cluster_rows": (0.0,),
    "edge_learning_rate": (0.1,),
    "folds": (2,),
    "reset_classifiers": (False,),
}
SHARES = ("edges_per_cluster", "edge_scale")
FEW = ("cluster_scale", "edge_scale")  # swept in a small run
SEEDS = 100  # between the seeds of an ensemble's members


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """The first stage; what builds on the second in one run; the others; labels without rows where names tell them; the
    ensemble; and (one seed) the sweeps.

    A small run is of smaller models (SMALL), without the ensemble and most of the sweeps.
    """
    common = {"data": data, "seed": seed, "size": "small" if small else "preset", "factor": None, "value": None}
    models = [STEPS[0], SECOND, *OTHERS, *(() if small else STEPS[-1:])]
    models += [UNSEEN] if data in NAMED else []
    runs: list[Run] = [{**common, "model": name} for name in models]
    swept = {name: SWEPT[name] for name in FEW if name in SWEPT} if small else SWEPT
    if seed == 0:
        runs += [{**common, "model": STEPS[1], "factor": f, "value": v} for f, vs in swept.items() for v in vs]
    return runs


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Train what the run names; quality on test, recall by label frequency, and the index if there is one."""
    data = bench.data(run["data"])

    def made(name: str, **params: Any) -> Model:
        model = preset(name, **{"seed": run["seed"], "threads": bench.threads, **params})
        inner = model.base if isinstance(model, Reranked) else model
        if run["size"] == "small" and isinstance(inner, EncodedModel):
            inner.set_params(**{name: value for name, value in SMALL.items() if name in inner.get_params(deep=False)})
        return model

    at = bench.checkpoint(run)
    if run["model"] == SECOND:
        return _steps(data, made, seed=run["seed"], threads=bench.threads, checkpoint=at)
    if run["model"] == STEPS[-1]:
        return [_ensemble(data, made, seed=run["seed"], threads=bench.threads)]
    if run["model"] == UNSEEN:
        model = made("elias")
        assert isinstance(model, Elias)  # what the preset is
        return unseen(data, model, run["seed"], bench.threads)
    stages = {name: {"stages": i} for i, name in enumerate(STEPS[:2], 1)}.get(run["model"])
    model = made("elias", **stages) if stages else made(run["model"])
    if run["factor"] in SHARES:
        n_labels = data.train.n_labels
        model.set_params(**{run["factor"]: -(-run["value"] * n_labels // n_clusters(None, n_labels))})
    elif run["factor"] is not None:
        model.set_params(**{run["factor"]: run["value"]})
    return [_trained(data, run["model"], model, at, facts=run["factor"] is None)]


def _steps(
    data: Prepared, made: Made, *, seed: int, threads: int | None, checkpoint: Path | None
) -> list[dict[str, Any]]:
    """Stage 2, rankers and calibration share one training."""
    X, Y = data.train.X, data.train.Y
    _, two, ranked, logistic, calibrated, _ = STEPS
    full = made("elias++")
    assert isinstance(full, Reranked)  # what the preset is
    cost = _fitted(full, data, checkpoint)
    base = full.fitted_base
    rows = [_measured(data, two, base)]
    plain = Reranked(calibrate=False, seed=seed, threads=threads).fit(X, Y, fitted_base=base)
    rows.append({**_measured(data, ranked, plain), "by frequency": _opinions(data, plain)})
    other = Reranked(ranker=Ranker(loss="logistic", transform="sigmoid"), calibrate=False, seed=seed, threads=threads)
    rows.append(_measured(data, logistic, other.fit(X, Y, fitted_base=base)))
    return [*rows, {**_measured(data, calibrated, full), **cost}]


def _ensemble(data: Prepared, made: Made, *, seed: int, threads: int | None) -> dict[str, Any]:
    """Members begin with other clusters."""
    began = time.process_time()
    members = [made("elias++", seed=seed + SEEDS * i).fit(data.train.X, data.train.Y) for i in range(3)]
    seconds = round(time.process_time() - began, 1)
    return {**_measured(data, STEPS[-1], Ensemble.of(members, threads=threads)), "processor seconds": seconds}


def _trained(data: Prepared, name: str, model: Model, checkpoint: Path | None, *, facts: bool = True) -> dict[str, Any]:
    cost = _fitted(model, data, checkpoint)
    return {**_measured(data, name, model, facts=facts), **cost}


def _fitted(model: Model, data: Prepared, checkpoint: Path | None) -> dict[str, float]:
    """Train; returns the processor's seconds, of all threads: comparable whatever else the machine does. Of a training
    that goes on after a stop they are not known."""
    more: dict[str, Any] = {"checkpoint": checkpoint} if isinstance(model, Resumes) else {}
    goes_on = checkpoint is not None and checkpoint.exists()
    began = time.process_time()
    model.fit(data.train.X, data.train.Y, **more)
    return {} if goes_on else {"processor seconds": round(time.process_time() - began, 1)}


def _measured(data: Prepared, name: str, model: Model, *, facts: bool = True) -> dict[str, Any]:
    began = time.process_time()
    top = model.predict(data.test.X, k=100)
    took = 1e3 * (time.process_time() - began) / max(1, data.test.n_rows)
    out: dict[str, Any] = {"model": name, "ms a row": round(took, 4), **quality(data, top, METRICS)}
    out |= {"deciles": recall_by_decile(data, top), "recall": recall_at(data, top), "megabytes": _megabytes(model)}
    if isinstance(model, Elias) and facts:
        out |= index_facts(model, data)
    if isinstance(model, LinearTree):
        out["costs"] = tree_costs(model, data)
    return out


def _megabytes(model: Model) -> float:
    """Of the stored arrays (table 6); parts of a model of models included."""

    def size(part: Storable) -> int:
        state = part.to_state()
        return sum(array.nbytes for array in state.arrays.values()) + sum(map(size, state.parts.values()))

    return round(size(model) / 1e6, 1)


def _opinions(data: Prepared, model: Reranked) -> dict[str, list[float]]:
    """Recall at 5 by label frequency: of the base's scores alone, the ranker's alone, and both (figure 4)."""
    found = model.fitted_base.predict(data.test.X, model.candidates)
    second = model.ranker_scores(data.test.X, found.labels)
    order = np.argsort(-np.where(found.labels < 0, -np.inf, second), axis=1, kind="stable")[:, :5]
    alone = TopK(
        np.ascontiguousarray(np.take_along_axis(found.labels, order, axis=1)),
        np.ascontiguousarray(np.take_along_axis(second, order, axis=1)),
        found.n_labels,
    )
    return {
        "ELIAS": recall_by_decile(data, found, at=5),
        "ranker": recall_by_decile(data, alone, at=5),
        "both": recall_by_decile(data, model.predict(data.test.X, k=5), at=5),
    }


EXPERIMENT = Experiment(
    name="elias",
    title="A learned index of labels (ELIAS)",
    data=("mdn-seealso", "debian-depends", "acl-authors"),  # or, say, acl-authors@10000: some of its rows
    seeds=2,
    plan=plan,
    measure=measure,
    page=page,
    needs=("torch", "sklearn"),
)
