"""Models that live: rows and labels arrive in ten batches; learning on, beside training anew and doing nothing."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array, Csr, StringTable, TopK, assemble, is_right, row_numbers, take_rows
from ..catalog import preset
from ..core import InputError, generator
from ..data import Dataset
from ..metrics import evaluate
from ..tagger import Tagger
from ..text import Vectorizer
from .base import Experiment, Run
from .data import Bench, Prepared
from .figures import Figures, spread, table

DATA = ("stackexchange", "yso-100k", "debian-depends")
METRICS = ("P@1", "P@5", "PSP@5")
MODELS = ("best", "xr-linear")
BATCHES = 10
LATE = 0.2  # of labels come after the first half of the rows
ASKED = 20  # new labels that neighbours are told of, one by one
SHOWN = {
    "P@1": "P@1", "P@5": "P@5", "PSP@5": "PSP@5", "R@5 added": "R@5 added", "P@5 added": "P@5 added",
    "seconds a batch": "s a batch", "MB": "MB",
}  # fmt: skip
ORDER = ("no update", "update", "full retraining", "neighbours only", "neighbours, trained anew")


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """Each model, and neighbours alone."""
    models = MODELS[1:] if small else MODELS
    return [{"data": data, "seed": seed, "model": model} for model in (*models, "neighbors")]


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """One row for each way to go on."""
    data = bench.data(run["data"])
    if data.train.texts is None or data.test.texts is None or data.train.label_names is None:
        raise InputError(f"{run['data']}: the experiment needs texts and label names")
    stream = Stream(data, run["seed"])
    model, alone = run["model"], run["model"] == "neighbors"
    live = _tagger(model, run["seed"], bench.threads)
    start = time.process_time()
    live.fit(*stream.rows(0, stream.half))
    first = time.process_time() - start
    out = [{"way": "no update", **stream.quality(live), "seconds a batch": 0.0, "first training s": round(first, 2)}]
    seconds = []
    for i in range(BATCHES):
        batch = stream.rows(*stream.batch(i))
        start = time.process_time()
        live.update(*batch)
        seconds.append(round(time.process_time() - start, 3))
    way = "neighbours only" if alone else "update"
    kept = live.life.rows
    row = {"way": way, **stream.quality(live), "seconds a batch": round(float(np.mean(seconds)), 3), "batches": seconds}
    row |= {"MB": _megabytes(live), "MB of kept rows": round(0 if kept is None else kept.n_bytes / 1e6, 2)}
    if alone:
        row |= _told(live)
    out.append(row)
    start = time.process_time()
    full = _tagger(model, run["seed"], bench.threads).fit(*stream.rows(0, stream.n_rows))
    spent = time.process_time() - start
    way = "neighbours, trained anew" if alone else "full retraining"
    out.append({"way": way, **stream.quality(full), "seconds a batch": round(spent, 2), "MB": _megabytes(full)})
    return out


class Stream:
    """Rows in the order in which they come: half of them first, then ten batches; a fifth of the labels come late."""

    def __init__(self, data: Prepared, seed: int) -> None:
        self.data, train = data, data.train
        rng = generator(seed, "living")
        late = np.where(rng.random(train.n_labels) < LATE, rng.uniform(0.5, 1, train.n_labels), 0)
        when = rng.random(train.n_rows)
        np.maximum.at(when, row_numbers(train.Y), late[train.Y.indices])
        self.order = np.argsort(when, kind="stable")
        self.n_rows, self.half = train.n_rows, train.n_rows // 2
        self.names: list[str] = list(train.label_names or ())
        seen = np.unique(take_rows(train.Y, self.order[: self.half]).indices)
        self.added = np.ones(train.n_labels, bool)
        self.added[seen] = False

    def batch(self, i: int) -> tuple[int, int]:
        """Where a batch begins and ends."""
        left = self.n_rows - self.half
        return self.half + left * i // BATCHES, self.half + left * (i + 1) // BATCHES

    def rows(self, first: int, last: int) -> tuple[list[str], list[list[str]]]:
        """Texts and their labels."""
        train, some = self.data.train, self.order[first:last].tolist()
        texts = train.texts or []
        Y = train.Y
        lists = [[self.names[j] for j in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]] for i in some]
        return [texts[i] for i in some], lists

    def quality(self, tagger: Tagger) -> dict[str, float]:
        """On the test part, by the labels of all training rows."""
        test: Dataset = self.data.test
        own = StringTable.of(self.names)
        number = np.array([-1 if (i := own.find(name)) is None else i for name in tagger.label_names], np.int64)
        top = tagger.predict(test.texts, 5, guess=True)
        labels = np.where(top.labels >= 0, number[top.labels], -1).astype(np.int32)
        found = TopK(labels, top.scores, len(self.names))
        scores = evaluate(test.Y, found, list(METRICS), weights=self.data.weights())
        return {**{name: round(float(value), 3) for name, value in scores.items()}, **self._added(labels, test.Y)}

    def _added(self, labels: Array, Y: Csr) -> dict[str, float]:
        """Of the labels that came late: how many of those that rows have are among five answers, and how many of the
        answers that are such are right."""
        kept = self.added[Y.indices]
        offsets = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
        wanted = assemble(Y.data[kept], Y.indices[kept], offsets, Y.shape)
        answered = (labels >= 0) & self.added[np.maximum(labels, 0)]
        right = is_right(labels, wanted)
        return {
            "R@5 added": round(100 * float(right.sum()) / max(1, int(wanted.nnz)), 3),
            "P@5 added": round(100 * float(right.sum()) / max(1, int(answered.sum())), 3),
            "added labels": int(self.added.sum()),
        }


def _tagger(model: str, seed: int, threads: int | None) -> Tagger:
    return Tagger(
        Vectorizer(threads=threads), preset(model, seed=seed, threads=threads), keep_rows=model != "neighbors"
    )


def _megabytes(tagger: Tagger) -> float:
    with tempfile.TemporaryDirectory() as folder:
        tagger.save(Path(folder) / "model")
        return round(sum(p.stat().st_size for p in (Path(folder) / "model").iterdir()) / 1e6, 2)


def _told(tagger: Tagger) -> dict[str, float]:
    """Milliseconds from telling a new label, with one row, until it is answered; the median of some."""
    vectorizer = tagger.require_vectorizer()
    words = [str(word) for word in list(vectorizer.feature_names)[:: max(1, vectorizer.n_features // 200)]]
    times, worked = [], []
    for i in range(ASKED):
        text, label = " ".join(words[i * 3 : i * 3 + 5]), f"a label that was never there {i}"
        start, begun = time.perf_counter(), time.process_time()
        tagger.update([text], [[label]])
        found = {tag.label for tag in tagger.tag(text, k=5)}
        times.append(1000 * (time.perf_counter() - start))
        worked.append(1000 * (time.process_time() - begun))
        if label not in found:
            raise RuntimeError(f"{label!r} was told and is not answered")
    return {"ms until found": round(float(np.median(times)), 2), "of them at work": round(float(np.median(worked)), 2)}


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """A table for each data set and model, what of the aims was reached, and time by batch."""
    out = [
        "Half of the training rows come at first; the others in ten batches, each 5% of all rows. A fifth of labels "
        "come late: no row before some moment in the second half has them. Test rows are the usual ones. *No update*: "
        "the model of the first half. *Update*: `tagger.update` ten times; known words weigh as in the first half, and "
        "new ones are learned, labels of trees move and clusters that have become too large are divided. *Full "
        "retraining*: on all rows, words and all. *Neighbours only*: `Neighbors` alone, which "
        "learns by remembering. R@5 added: of late labels that test rows have, the share among five answers; P@5 "
        "added: of answers that are late labels, the share that is right. Processor seconds; for a full retraining, of "
        "one.\n"
    ]
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == data]
        seeds = len({row["seed"] for row in mine})
        added = mine[0]["added labels"]
        out.append(f"## {data} ({seeds} seed{'s' if seeds > 1 else ''}, {added:,} labels come late)\n")
        for model in dict.fromkeys(row["model"] for row in mine):
            some = [row for row in mine if row["model"] == model]
            out.append(f"### {model}\n")
            lines = []
            for way in [w for w in ORDER if any(row["way"] == w for row in some)]:
                these = [row for row in some if row["way"] == way]
                lines.append([way, *(spread([row[f] for row in these if f in row]) for f in SHOWN)])
            out.append(table(["way", *SHOWN.values()], lines) + "\n")
            out.append(_aims(some) + "\n")
            out.append(_picture(Path(data).name, model, some, figures))
    return "\n".join(out)


def _aims(rows: list[dict[str, Any]]) -> str:
    """What an update loses against a full retraining, and what it costs beside it."""
    ways = {way: [row for row in rows if row["way"] == way] for way in ORDER}
    if ways["neighbours only"]:
        told, worked = (
            spread([row[name] for row in ways["neighbours only"]]) for name in ("ms until found", "of them at work")
        )
        return (
            f"A new label, told with one row, is answered {told} ms later (median; aim 50), of which the processor was "
            f"at work for {worked} ms."
        )
    update, full = ways["update"], ways["full retraining"]
    lost = {
        name: np.mean([u[name] - f[name] for u, f in zip(update, full, strict=True)])
        for name in SHOWN
        if name[1] != "B"
    }
    late, every = (
        100 * np.mean([np.mean(u["batches"][first:]) / f["seconds a batch"] for u, f in zip(update, full, strict=True)])
        for first in (BATCHES // 2, 0)
    )
    kept = np.mean([u["MB of kept rows"] for u in update])
    return (
        f"Against full retraining: P@1 {lost['P@1']:+.2f}, P@5 {lost['P@5']:+.2f} (aim: −0.5 or better), R@5 of added "
        f"labels "
        f"{lost['R@5 added']:+.2f} and their P@5 {lost['P@5 added']:+.2f} (aim: −1.0 or better). An update of the last "
        f"five batches took {late:.1f}% of the time of a full training (aim: 15%), one of all ten {every:.1f}%. "
        f"Kept rows: {kept:.1f} MB "
        f"of the model."
    )


def _picture(data: str, model: str, rows: list[dict[str, Any]], figures: Figures) -> str:
    """Seconds by batch."""
    update = [row for row in rows if "batches" in row and row["way"] == "update"]
    if not update:
        return ""
    full = [row for row in rows if row["way"] == "full retraining"]
    key = f"{data}-{model}"
    with figures.draw(key) as (axes,):
        axes.bar(range(1, BATCHES + 1), update[0]["batches"], label="update")
        axes.axhline(0.15 * full[0]["seconds a batch"], color="grey", label="15% of a full training")
        axes.set(xlabel="batch", ylabel="processor seconds", title=f"{model} on {data}")
        axes.legend(fontsize=7)
    return figures.link(key, f"time of each update of {model} on {data}") + "\n"


EXPERIMENT = Experiment(
    name="living",
    title="Models that live: learning on beside training anew",
    data=DATA,
    seeds=1,
    plan=plan,
    measure=measure,
    page=page,
)
