"""What the GLaS paper (Guo et al. 2019) measured: each factor alone, the generalisation gap, tail labels; and its
regulariser against others at every weight, from both starts.

Everything is measured on the test part; parameters were chosen on held-out training rows. `dim` and batch are smaller
than the paper's (1024 and 4096), which had data sets a hundred times as large.
"""

from __future__ import annotations

import time
from typing import Any

from ..arrays import TopK
from ..catalog import preset
from ..labels import inverse_propensity, label_frequency, propensity_constants
from ..linear import LinearTree
from ..metrics import evaluate
from ..neural import Glas
from ..tuning import choose_prior
from .base import Experiment, Run
from .data import Bench, Prepared
from .glas_parts.groups import NAME as GROUPS
from .glas_parts.groups import made
from .glas_parts.page import (
    CHOSEN,
    CROSS,
    CROSS_DIM,
    CROSS_EPOCHS,
    CROSS_HIDDEN,
    LABELS,
    METRICS,
    STARTS,
    TREE_PRIORS,
    TREES,
    WIDE,
    page,
)
from .glas_parts.structure import MOST_LABELS, asked, by_cosines, structure
from .measure import psp_by_decile, quality

# Table 1: one of these changed at a time, all else as in the preset.
FACTORS: dict[str, tuple[Any, ...]] = {
    "regularizer": (None, "spread-out", "gravity", "laplacian"),
    "similarity": ("geometric", "pmi", "jaccard"),
    "regularizer_weight": (1.0, 10.0, 100.0, 1000.0, 10000.0),
    "init": ("random",),
    "prior": (-0.04, -0.02, 0.0, 0.02, 0.04),
    "input_dropout": (0.0, 0.2, 0.4),
    "hidden": ("relu", "relu-only", "linear"),
    "dim": (64, 128, 256, 512, 1024),
    "loss": ("margin", "negative-mining", "softmax"),
    "margin": (0.3, 0.5, 0.7),
    "n_hard_negatives": (1, 3, 10, 30),
    "n_negatives": (0, 1000, 5000),
    "batch_size": (256, 1024, 4096),
    "epochs": (5, 10, 20),
    "learning_rate": (0.05, 0.1, 0.4),
    "label_terms": ("bias", "bias and length"),
    "weight_norm": (False,),
    "refit": (True,),
}
SMALL: dict[str, tuple[Any, ...]] = {
    "regularizer": (None, "spread-out", "gravity"),
    "init": ("random",),
    "prior": (0.0,),
    "hidden": ("relu-only", "linear"),
}
# The regulariser against others at every weight, from both starts; all else as in the preset.
WEIGHTS = (1.0, 10.0, 100.0, 1000.0)
MILD = {"gravity": 10.0, "laplacian": 10.0}  # both pull all vectors one way: at the preset's weight nothing is learned
MOST_TRAIN = 3000  # training rows that the generalisation gap is measured on
NGRAMS = "words in a feature"
DROPOUT = "input_dropout, dropout_scale"  # crossed: what is left can make up for what was dropped


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """The preset, every factor alone, the trees, regularisers at all weights; only these on the made data."""
    common = {"data": data, "seed": seed}
    weights = WEIGHTS[1:2] if small else WEIGHTS
    crossed = [[None, 0.0, start] for start in STARTS]
    crossed += [[kind, w, start] for kind in ("glas", "spread-out") for w in weights for start in STARTS]
    regularised: list[Run] = [{**common, "model": "glas", "factor": CROSS, "value": value} for value in crossed]
    if not seed:  # the same for all
        regularised.append({**common, "model": LABELS, "factor": None, "value": None})
    if data == GROUPS:
        return [{**common, "model": TREES[0], "factor": None, "value": None}, *regularised]
    runs: list[Run] = [{**common, "model": "glas", "factor": None, "value": None}]
    runs += [{**common, "model": tree, "factor": None, "value": None} for tree in TREES[: 1 if small else None]]
    runs += [
        {**common, "model": "xr-linear", "factor": "prior", "value": t} for t in TREE_PRIORS[: 1 if small else None]
    ]
    for factor, values in (SMALL if small else FACTORS).items():
        default = getattr(Glas, factor)
        runs += [{**common, "model": "glas", "factor": factor, "value": v} for v in values if v != default]
    runs += [
        {**common, "model": "glas", "factor": DROPOUT, "value": [0.2, how]} for how in ("none", "share", "length")
    ][: 1 if small else None]
    if not small:
        runs.append({**common, "model": "glas", "factor": WIDE, "value": [1024, True]})
        runs += [{**common, "model": name, "factor": NGRAMS, "value": 2} for name in ("glas", TREES[0])]
    return runs + regularised


def changed(run: Run) -> dict[str, Any]:
    """The parameters that a run changes."""
    factor, value = run["factor"], run["value"]
    if run["model"] != "glas":
        return {"prior": value} if factor == "prior" and value != CHOSEN else {}
    if factor == NGRAMS:  # of the data, not of the model
        return {}
    if factor == CROSS:
        names = ("regularizer", "regularizer_weight", "init")
        how = {"dim": CROSS_DIM, "epochs": CROSS_EPOCHS, "hidden": CROSS_HIDDEN}
        return {**how, **dict(zip(names, value, strict=True))}
    if factor == WIDE:
        return dict(zip(("dim", "refit"), value, strict=True))
    if factor == DROPOUT:
        return dict(zip(("input_dropout", "dropout_scale"), value, strict=True))
    if factor == "regularizer" and value in MILD:
        return {factor: value, "regularizer_weight": MILD[value]}
    return {} if factor is None else {factor: value}


def measure(run: Run, bench: Bench) -> dict[str, Any]:
    """Train one model; quality on test and on some training rows, and how training went."""
    ngrams = run["value"] if run["factor"] == NGRAMS else 1
    data = made(run["seed"]) if run["data"] == GROUPS else bench.data(run["data"], ngrams)
    if run["model"] == LABELS:
        return {name: round(value, 5) for name, value in asked(data.train.Y).items()}
    model = preset(run["model"], seed=run["seed"], threads=bench.threads)
    model.set_params(**changed(run))
    measured: dict[str, Any] = {}
    if run["value"] == CHOSEN and isinstance(model, LinearTree):
        trials = choose_prior(model, data.train.X, data.train.Y, seed=run["seed"])
        measured["prior"] = next(trial.prior for trial in trials if trial.chosen)
        model.set_params(prior=measured["prior"])
    began = time.perf_counter()
    model.fit(data.train.X, data.train.Y)
    seconds = time.perf_counter() - began
    measured["seconds"] = round(seconds, 2)
    top = model.predict(data.test.X, k=5)
    measured["PSP@1 by tenths"] = psp_by_decile(data, top)
    measured |= quality(data, top, METRICS)
    measured["PSP@1 of test counts"] = _psp_of_test_counts(data, top)
    seen = data.train.select(range(min(data.train.n_rows, data.test.n_rows, MOST_TRAIN)))
    found = quality(type(data)(data.name, data.train, seen), model.predict(seen.X, k=5), ("P@1",))
    measured["train P@1"] = found["P@1"]
    if isinstance(model, Glas):
        plain = quality(data, by_cosines(model, data.test.X, 5), ("P@1", "P@5", "PSP@1", "PSP@5"))
        measured |= {f"{name} of cosines": value for name, value in plain.items()}
        if model.n_labels <= MOST_LABELS:
            found = structure(model.label_vectors, data.train.Y)
            measured["structure"] = {name: round(value, 6) for name, value in found.items()}
        measured["curves"] = [{k: round(v, 5) for k, v in point.items() if k != "seconds"} for point in model.curves]
    return measured


def _psp_of_test_counts(data: Prepared, top: TopK) -> float:
    """PSP@1 with propensities from the test part, as the code in the paper's appendix D has them."""
    A, B = propensity_constants(data.name)
    weights = inverse_propensity(label_frequency(data.test.Y), data.test.n_rows, A=A, B=B)
    return round(float(evaluate(data.test.Y, top, ["PSP@1"], weights=weights)["PSP@1"]), 3)


EXPERIMENT = Experiment(
    name="glas",
    title="GLaS: embeddings of labels that follow their co-occurrence",
    data=("cooking", "stackexchange", "mdn-seealso", "yso-100k", "npm-deps", "acl-authors", GROUPS),
    seeds=5,
    plan=plan,
    measure=measure,
    page=page,
    needs=("torch",),
)
