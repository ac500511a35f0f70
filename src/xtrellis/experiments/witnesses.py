"""What trees, neighbours and names add to each other: each alone, all pairs, all; by frequency; labels without rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..arrays import Array, Csr, TopK, as_features, assemble, is_right, row_numbers, take_rows
from ..catalog import preset
from ..data import Dataset, TrainingData
from ..metrics import reliability
from ..model import Model
from ..rank import Blend, Ensemble
from ..store import Stages
from .base import Experiment, Run
from .data import Bench, Prepared
from .figures import Figures, spread, spread_table, table
from .measure import quality
from .witnesses_parts import calibrated, choices

METRICS = ("P@1", "P@3", "P@5", "R@10", "R@100", "PSP@1", "PSP@5")
SHOWN = ("P@1", "P@5", "R@10", "R@100", "PSP@1", "PSP@5", "ECE")
DATA = (
    "yso-100k", "stackexchange", "debian-depends", "npm-deps", "mdn-seealso", "cooking", "delicious", "bibtex"
)  # fmt: skip
WITNESSES = ("overlap", "neighbors", "names")
UNSEEN = 0.1  # of labels whose rows are taken away
TENTHS = 10
CANDIDATES = 100
THREE = " + ".join(WITNESSES)
BEST = f"{THREE} + title"  # names in the first words: little by itself
WITHOUT_NAMES = "best: overlap + neighbors"
FULL = (BEST, WITHOUT_NAMES, THREE, "overlap + neighbors")  # what all that the data has something for are called


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """Witnesses alone and together, and labels that no row has."""
    if data in calibrated.MORE:
        return [{"data": data, "seed": seed, "part": "calibration"}]
    parts = [part for part in PARTS if part != "choices" or data in choices.DATA]
    return [{"data": data, "seed": seed, "part": part} for part in parts]


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """One row for each combination of witnesses."""
    data = bench.data(run["data"])
    return PARTS[run["part"]](data, run["seed"], bench.threads)


def _together(data: Prepared, seed: int, threads: int | None) -> list[dict[str, Any]]:
    train = _training(data.train)
    names = _able(train)
    rows = [_row(data, "xr-linear", [preset("xr-linear", seed=seed, threads=threads)], train, None)]
    ensemble = preset("+".join(names), seed=seed, threads=threads)
    models, spent = [], []
    for name in names:
        start = time.process_time()
        models.append(preset(name, seed=seed, threads=threads).fit(train))
        spent.append(time.process_time() - start)
        rows.append(_row(data, name, models[-1:], None, None, seconds=spent[-1]))
    start = time.process_time()
    with Stages(None, {}) as stages:
        trials = list(cast(Ensemble, ensemble).trials(train, models, stages))
    spent.append(time.process_time() - start)
    for size in range(2, len(names) + 1):
        for some in combinations(range(len(names)), size):
            start = time.process_time()
            found = [trial.of(some) for trial in trials]
            blend = Blend.learn(found, train.label_counts, wide=CANDIDATES, ask=False, seed=seed, threads=threads)
            seconds = sum(spent) + time.process_time() - start if size == len(names) else None
            called = " + ".join(names[i] for i in some)
            rows.append(_row(data, called, [models[i] for i in some], None, blend, seconds=seconds))
    return rows


def _row(
    data: Prepared, name: str, models: Sequence[Model], train: TrainingData | None, blend: Blend | None,
    *, seconds: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What was measured of one combination on the test part."""
    if train is not None:
        start = time.process_time()
        models[0].fit(train)
        seconds = time.process_time() - start
    start = time.process_time()
    if blend is None:
        top = models[0].predict(data.test.X, CANDIDATES, texts=_texts(models[0], data.test))
    else:
        pool, said = blend.hear(models, data.test.X, data.test.texts, CANDIDATES, models[0].threads)
        top = pool.best(blend.probability(said, threads=models[0].threads), CANDIDATES)
    taken = time.process_time() - start
    out = {"witnesses": name, "prediction µs a row": round(1e6 * taken / data.test.n_rows, 1)}
    if seconds is not None:
        out["training s"] = round(seconds, 2)
    if blend is not None or models[0].answers_probabilities:
        found = reliability(data.test.Y, top)
        out |= {"ECE": round(found.ece, 4), "Brier": round(found.brier, 4), "reliability": found.to_dict()["bins"]}
    out["by frequency"] = _by_frequency(data, top)
    return {**out, **quality(data, top, METRICS)}


def _by_frequency(data: Prepared, top: TopK) -> list[float]:
    """R@10 of labels by how many rows they have, in tenths of the test part's labels."""
    counts = np.bincount(data.train.Y.indices, minlength=data.train.n_labels)
    Y = data.test.Y
    asked = counts[Y.indices]
    hits = _found(Y, top, 10)
    order = np.argsort(asked, kind="stable")
    return [round(100 * float(hits[part].mean()), 2) for part in np.array_split(order, TENTHS)]


def _found(Y: Csr, top: TopK, k: int) -> Array:
    """Which of the labels that rows have are among the first k answers."""
    labels = np.ascontiguousarray(top.labels[:, :k])
    right = is_right(labels, Y)
    rows = np.broadcast_to(np.arange(len(labels))[:, None], labels.shape)[right]
    numbers = rows.astype(np.int64) * Y.shape[1] + labels[right]
    return np.isin(row_numbers(Y) * Y.shape[1] + Y.indices, numbers)


def _unseen(data: Prepared, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """Labels whose rows are taken away before training: how many of them are found by name."""
    if data.train.texts is None or data.train.label_names is None:
        return [{"witnesses": "none", "note": "no texts or no names"}]
    rng = np.random.default_rng(seed)
    gone = rng.random(data.train.n_labels) < UNSEEN
    train = _training(data.train, _without(data.train.Y, gone))
    asked = _without(data.test.Y, ~gone)
    some = np.flatnonzero(np.diff(asked.indptr))
    X, Y = take_rows(as_features(data.test.X), some), take_rows(asked, some)
    texts = None if data.test.texts is None else [data.test.texts[i] for i in some.tolist()]
    out = []
    for name in ("overlap", "names", THREE, BEST):
        model = preset(name.replace(" ", ""), seed=seed, threads=threads).fit(train)
        top = model.predict(X, CANDIDATES, texts=texts if model.reads_texts else None)
        found = {f"R@{k} of unseen": round(100 * float(_found(Y, top, k).mean()), 2) for k in (5, 10, 100)}
        out.append({"witnesses": name, "unseen labels": int(gone.sum()), **found})
    return out


def _training(part: Dataset, Y: Csr | None = None) -> TrainingData:
    return TrainingData.of(part.X, part.Y if Y is None else Y, texts=part.texts, label_names=part.label_names)


def _best(data: Prepared, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """The preset as it is."""
    train = _training(data.train)
    called = BEST if len(_able(train)) == len(WITNESSES) else WITHOUT_NAMES
    return [_row(data, called, [preset("best", seed=seed, threads=threads)], train, None)]


def _opponents(data: Prepared, seed: int, threads: int | None) -> list[dict[str, Any]]:
    """The strongest that trees can do by themselves: three of them, calibrated."""
    model = preset("xr-linear,xr-linear,xr-linear", combine="calibrated", seed=seed, threads=threads)
    return [_row(data, "three calibrated xr-linear", [model], _training(data.train), None)]


PARTS = {
    "together": _together, "unseen": _unseen, "opponents": _opponents, "best": _best, "choices": choices.measure,
    "calibration": calibrated.measure,
}  # fmt: skip


def _without(Y: Csr, gone: Array) -> Csr:
    """The same matrix with some columns empty."""
    kept = ~gone[Y.indices]
    offsets = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return assemble(Y.data[kept], Y.indices[kept], offsets, Y.shape)


def _able(train: TrainingData) -> list[str]:
    """The witnesses that the data has something for."""
    return [
        name for name in WITNESSES if name != "names" or (train.texts is not None and train.label_names is not None)
    ]


def _texts(model: Model, part: Dataset) -> Sequence[str] | None:
    return part.texts if model.reads_texts else None


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables by data set, what the best gains on average, by frequency, unseen labels, calibration."""
    together = [row for row in rows if row["part"] not in ("unseen", "choices", "calibration") and "P@1" in row]
    out = [
        "Trees (`overlap`), the nearest training rows (`neighbors`), and the labels' names found in the text (`names`) "
        "and in its first words (`title`), each alone and blended by `Ensemble(combine='learned')`; test parts. "
        "Bag-of-words data has no texts, so no names. ECE: expected calibration error of the first ten answers; times "
        "are processor seconds over all threads, training of a blend with that of all its members.\n"
    ]
    data_sets = list(dict.fromkeys(row["data"] for row in together))
    gains = []
    for data in data_sets:
        mine = [row for row in together if row["data"] == data]
        base = [row for row in mine if row["witnesses"] == "xr-linear"]
        full = [row for row in mine if row["witnesses"] in FULL]
        full = [row for row in full if row["witnesses"] == full[-1]["witnesses"]]
        called = f"{data} (without `title`)" if full[-1]["witnesses"] == THREE else data
        gains.append([called, *(_gain(full, base, metric) for metric in SHOWN[:-1])])
    if gains:
        out.append("## What all witnesses together gain over `xr-linear`\n")
        means = [f"{np.mean([float(line[i]) for line in gains]):+.2f}" for i in range(1, len(SHOWN))]
        out.append(table(["data", *SHOWN[:-1]], [*gains, ["**mean**", *means]]) + "\n")
    for data in data_sets:
        mine = [row for row in together if row["data"] == data]
        seeds = len({row["seed"] for row in mine})
        out.append(f"## {data} ({seeds} seed{'s' if seeds > 1 else ''})\n")
        shown = {name: name for name in SHOWN} | {"training s": "training s", "prediction µs a row": "µs a row"}
        lines = [{**dict.fromkeys(shown), **row} for row in mine]
        out.append(_table(lines, shown) + "\n")
        out.append(_pictures(data, mine, figures))
    unseen = [row for row in rows if row["part"] == "unseen" and "unseen labels" in row]
    if unseen:
        out.append("## Labels that no training row has\n")
        out.append(
            "A tenth of the labels lose all their rows before training; test rows that have one of them are asked. "
            "Names alone put more of them among the first answers than the blend, which has trees and neighbours "
            "speak for labels that have rows, and these are mostly right; among a hundred answers little is lost.\n"
        )
        for data in dict.fromkeys(row["data"] for row in unseen):
            mine = [row for row in unseen if row["data"] == data]
            fields = {f"R@{k} of unseen": f"R@{k}" for k in (5, 10, 100)}
            out.append(f"### {data}: {mine[0]['unseen labels']:,} labels\n")
            out.append(spread_table(mine, "witnesses", fields) + "\n")
    said = [row for row in rows if row["part"] == "calibration"]
    if said:
        out.append(calibrated.section(said))
    chosen = [row for row in rows if row["part"] == "choices"]
    if chosen:
        out.append(choices.section(chosen))
    return "\n".join(out)


def _gain(full: list[dict[str, Any]], base: list[dict[str, Any]], metric: str) -> str:
    return f"{np.mean([row[metric] for row in full]) - np.mean([row[metric] for row in base]):+.2f}"


def _table(rows: list[dict[str, Any]], shown: dict[str, str]) -> str:
    lines = []
    for name in dict.fromkeys(row["witnesses"] for row in rows):
        mine = [row for row in rows if row["witnesses"] == name]
        cells = []
        for field in shown:
            values = [row[field] for row in mine if row[field] is not None]
            cells.append(f"{np.mean(values):.3f}" if field == "ECE" and values else spread(values))
        lines.append([name, *cells])
    return table(["witnesses", *shown.values()], lines)


def _pictures(data: str, rows: list[dict[str, Any]], figures: Figures) -> str:
    """R@10 by frequency, and the reliability of the blend of all."""
    first = [row for row in rows if row["seed"] == rows[0]["seed"] and row["part"] in ("together", "best")]
    key = Path(data).name  # a data set may be a folder
    with figures.draw(key, columns=2) as (left, right):
        for row in first:
            if row["witnesses"] in ("xr-linear", *WITNESSES) or row is first[-1]:
                left.plot(range(1, TENTHS + 1), row["by frequency"], marker="o", label=row["witnesses"])
        left.set(xlabel="tenth of the labels asked for, rarest first", ylabel="R@10", title=data)
        left.legend(fontsize=7)
        bins = [one for one in first[-1].get("reliability", []) if one["answers"]]
        right.plot([0, 1], [0, 1], color="grey", linewidth=1)
        right.plot([one["claimed"] for one in bins], [one["right"] for one in bins], marker="o")
        right.set(
            xlabel="claimed", ylabel="right", title=f"{first[-1]['witnesses']}: ECE {first[-1].get('ECE', 0):.3f}"
        )
    return figures.link(key, f"R@10 by frequency and reliability on {data}") + "\n"


EXPERIMENT = Experiment(
    name="witnesses",
    title="Three witnesses: trees, neighbours and names",
    data=DATA,
    seeds=1,
    plan=plan,
    measure=measure,
    page=page,
)
