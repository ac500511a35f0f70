"""What a ranker, its calibration and ensembles add to a tree (the steps of ELIAS's table 3, on linear trees)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..arrays import TopK
from ..catalog import preset
from ..model import Model
from ..rank import Ensemble, Reranked
from .base import Experiment, Run
from .data import Bench
from .figures import Figures, spread_table
from .measure import quality

METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@5", "R@10", "R@100")
SHOWN = ("P@1", "P@3", "P@5", "PSP@5", "R@100", "training s", "prediction ms a row")
BASES = ("xr-linear", "parabel")
SEEDS = 100  # between the seeds of an ensemble's members


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """One run a base: all steps build on it."""
    return [{"data": data, "seed": seed, "base": base} for base in (BASES[:1] if small else BASES)]


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """Every step is one row; seconds are those of all that the step needs, its base included."""
    data, seed = bench.data(run["data"]), run["seed"]
    X, Y = data.train.X, data.train.Y
    rows: list[dict[str, Any]] = []
    spent: dict[str, float] = {}

    def step(name: str, make: Callable[[], Model], needs: tuple[str, ...] = ()) -> Model:
        start = time.perf_counter()
        model = make()
        spent[name] = time.perf_counter() - start
        start = time.perf_counter()
        top: TopK = model.predict(data.test.X, 100)
        taken = time.perf_counter() - start
        rows.append({
            "step": name, "training s": round(spent[name] + sum(spent[n] for n in needs), 2),
            "prediction ms a row": round(1e3 * taken / max(1, len(top)), 4), **quality(data, top, METRICS),
        })  # fmt: skip
        return model

    def base(number: int = 0) -> Model:
        return preset(run["base"], seed=seed + SEEDS * number, threads=bench.threads).fit(X, Y)

    def ranked(model: Model) -> Reranked:
        return Reranked(calibrate=False, seed=seed, threads=bench.threads).fit(X, Y, fitted_base=model)

    def calibrated(number: int = 0) -> Model:
        seeded = {"seed": seed + SEEDS * number, "threads": bench.threads}
        return Reranked(base=preset(run["base"]), **seeded).fit(X, Y)

    first = step("base", base)
    step("+ ranker", lambda: ranked(first), ("base",))
    full = step("+ calibration", calibrated)
    step("+ calibration, sum", lambda: full.set_params(blend="sum"), ("+ calibration",))
    full.set_params(blend="product")
    second, third = (step(f"base, seed {i}", lambda i=i: base(i)) for i in (1, 2))  # type: ignore[misc]
    three = ("base", "base, seed 1", "base, seed 2")
    for combine in ("mean", "reciprocal-rank"):
        step(
            f"3 × base, {combine}",
            lambda combine=combine: Ensemble.of([first, second, third], combine=combine, threads=bench.threads),  # type: ignore[misc]
            three,
        )
    more = [calibrated(i) for i in (1, 2)]
    step("3 × calibrated", lambda: Ensemble.of([full, *more], threads=bench.threads), ("+ calibration",) * 3)
    return [row for row in rows if not row["step"].startswith("base, seed")]


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """One table a data set and base: mean ± standard deviation over seeds."""
    out = [
        "Every step is measured on test rows; training seconds include those of what a step builds on. Mean ± "
        "standard deviation over seeds.\n"
    ]
    for data, base in dict.fromkeys((row["data"], row["base"]) for row in rows):
        some = [row for row in rows if (row["data"], row["base"]) == (data, base)]
        seeds = len({row["seed"] for row in some})
        out.append(f"## {data}, {base} ({seeds} seed{'s' if seeds > 1 else ''})\n")
        out.append(spread_table(some, "step", {name: name for name in SHOWN}) + "\n")
    return "\n".join(out)


EXPERIMENT = Experiment(
    name="rank",
    title="Ranker, calibration, ensembles",
    data=("stackexchange", "yso-100k", "debian-depends"),
    seeds=2,
    plan=plan,
    measure=measure,
    page=page,
    needs=("sklearn",),
)
