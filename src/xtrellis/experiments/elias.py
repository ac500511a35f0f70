"""What the ELIAS paper (Gupta et al. 2022) measured: both stages beside brute force and trees, and what the index is.

Everything is measured on the test part; the training itself holds rows out to choose its epoch by. The encoder is the
BagEncoder, where the paper fine-tunes BERT: gains of the index can be compared with the paper's, absolute figures not.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..arrays import TopK
from ..catalog import preset
from ..model import Model
from ..neural import Elias, n_clusters
from ..rank import Ensemble, Ranker, Reranked
from ..store import Storable
from .base import Experiment, Run
from .data import Bench, Prepared
from .elias_index import index_facts, recall_at, recall_by_decile
from .elias_page import METRICS, OTHERS, STEPS, page
from .measure import quality

SMALL = 2  # steps and other models of a small run
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
SEEDS = 100  # between the seeds of an ensemble's members


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """All steps of ELIAS in one run, since each builds on the one before; the others; and (one seed) the sweeps."""
    common = {"data": data, "seed": seed, "factor": None, "value": None}
    runs: list[Run] = [{**common, "model": "first steps" if small else "all steps"}]
    runs += [{**common, "model": name} for name in OTHERS[: SMALL if small else None]]
    if not small and seed == 0:
        runs += [{**common, "model": "stage 2", "factor": f, "value": v} for f, vs in SWEPT.items() for v in vs]
    return runs


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Train what the run names; quality on test, recall by label frequency, and the index if there is one."""
    data, seeded = bench.data(run["data"]), {"seed": run["seed"], "threads": bench.threads}
    if run["model"] == "all steps":
        return _steps(data, **seeded)
    if run["model"] == "first steps":
        return [_trained(data, name, preset("elias", stages=s, **seeded)) for s, name in enumerate(STEPS[:SMALL], 1)]
    name = "elias" if run["model"] == "stage 2" else run["model"]
    model = preset(name, **seeded)
    if run["factor"] in SHARES:
        n_labels = data.train.n_labels
        model.set_params(**{run["factor"]: -(-run["value"] * n_labels // n_clusters(None, n_labels))})
    elif run["factor"] is not None:
        model.set_params(**{run["factor"]: run["value"]})
    return [_trained(data, run["model"], model, facts=run["factor"] is None)]


def _steps(data: Prepared, *, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """Stage 1; stage 2, ranker and calibration share one training; each further member of the ensemble has its own."""
    X, Y = data.train.X, data.train.Y
    one, two, ranked, logistic, calibrated, three = STEPS
    rows = [_trained(data, one, preset("elias", stages=1, seed=seed, threads=threads))]
    began = time.perf_counter()
    full = preset("elias++", seed=seed, threads=threads).fit(X, Y)
    assert isinstance(full, Reranked)  # what the preset is
    seconds = time.perf_counter() - began
    base = full.fitted_base
    rows.append(_measured(data, two, base))
    plain = Reranked(calibrate=False, seed=seed, threads=threads).fit(X, Y, fitted_base=base)
    rows.append({**_measured(data, ranked, plain), "by frequency": _opinions(data, plain)})
    other = Reranked(ranker=Ranker(loss="logistic", transform="sigmoid"), calibrate=False, seed=seed, threads=threads)
    rows.append(_measured(data, logistic, other.fit(X, Y, fitted_base=base)))
    rows.append({**_measured(data, calibrated, full), "seconds": round(seconds, 1)})
    began = time.perf_counter()
    more = [preset("elias++", seed=seed + SEEDS * i, threads=threads).fit(X, Y) for i in (1, 2)]
    members = Ensemble.of([full, *more], threads=threads)
    seconds += time.perf_counter() - began
    return [*rows, {**_measured(data, three, members), "seconds": round(seconds, 1)}]


def _trained(data: Prepared, name: str, model: Model, *, facts: bool = True) -> dict[str, Any]:
    began = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    seconds = round(time.perf_counter() - began, 1)
    return {**_measured(data, name, model, facts=facts), "seconds": seconds}


def _measured(data: Prepared, name: str, model: Model, *, facts: bool = True) -> dict[str, Any]:
    began = time.perf_counter()
    top = model.predict(data.test.X, k=100)
    took = 1e3 * (time.perf_counter() - began) / max(1, data.test.n_rows)
    out: dict[str, Any] = {"model": name, "ms a row": round(took, 4), **quality(data, top, METRICS)}
    out |= {"deciles": recall_by_decile(data, top), "recall": recall_at(data, top), "megabytes": _megabytes(model)}
    if isinstance(model, Elias) and facts:
        out |= index_facts(model, data)
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
    data=("mdn-seealso", "debian-depends", "acl-authors"),
    seeds=2,
    plan=plan,
    measure=measure,
    page=page,
    needs=("torch", "sklearn"),
)
