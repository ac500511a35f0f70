"""What an experiment is, and the one loop that runs them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..core import InputError, MissingExtraError, progress
from .data import Bench
from .figures import Figures, can_draw
from .results import Results

# What makes a run different from all others: plain JSON values, `data` and `seed` among them.
Run = dict[str, Any]
Row = Mapping[str, Any]
UNFINISHED = "unfinished"  # folder of trainings that were stopped, below that of the results
LIBRARIES = {
    "torch": ("PyTorch", "deep"),
    "transformers": ("transformers", "deep"),
    "sklearn": ("scikit-learn", "rank"),
}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A question, the runs that answer it, and the page that shows the answer."""

    name: str
    title: str
    data: tuple[str, ...]  # data sets it is run on unless told otherwise
    seeds: int
    plan: Callable[[str, int, bool], list[Run]]
    """(data set, seed, small) -> the runs; `small` asks for a small version."""
    measure: Callable[[Run, Bench], Row | Sequence[Row]]
    """Do one run; returns what was measured, or several rows of it (then each names what it is about)."""
    page: Callable[[list[dict[str, Any]], Figures], str]
    """The Markdown page from all rows."""
    needs: tuple[str, ...] = ()
    """Modules of extras without which no run can be done: asked for before the first."""


def run_all(
    experiment: Experiment,
    folder: Path,
    *,
    data: Sequence[str] = (),
    seeds: int | None = None,
    small: bool = False,
    only: Mapping[str, Sequence[str]] | None = None,
    threads: int | None = None,
) -> Path:
    """Do the runs that `folder` does not hold yet, then write the page; returns where it is.

    `only` leaves the runs whose fields have one of the values that it names, such as {"part": ["cost"]}.
    """
    names = tuple(data) or experiment.data
    results = Results(folder / f"{experiment.name}.jsonl")
    runs = [
        r for name in names for seed in range(seeds or experiment.seeds) for r in experiment.plan(name, seed, small)
    ]
    if only:
        _check(only, runs)
        runs = [run for run in runs if _among(run, only)]
    todo = [run for run in runs if not results.has(run)]
    _require_extras(experiment, todo)
    if len(todo) < len(runs):
        progress.note(f"{len(runs) - len(todo)} of {len(runs)} runs are in {results.path} already")
    bench = Bench(threads, folder / UNFINISHED)
    with progress.step(f"experiment {experiment.name}", total=len(todo), unit="runs") as advance:
        for run in todo:
            progress.note("run: " + ", ".join(f"{key} {value}" for key, value in run.items()))
            measured = experiment.measure(run, bench)
            results.add(run, [measured] if isinstance(measured, Mapping) else measured)
            bench.discard(run)
            advance(1)
    return write_page(experiment, folder)


def _require_extras(experiment: Experiment, todo: Sequence[Run]) -> None:
    """What is missing is told before hours of work, not after them."""
    for module in experiment.needs if todo else ():
        if find_spec(module) is None:
            library, extra = LIBRARIES[module]
            raise MissingExtraError(library, extra, f"the experiment {experiment.name}")
    if not can_draw():
        missing = MissingExtraError("matplotlib", "bench", "drawing plots")
        progress.note(f"the page will have no new plots: {missing}")


def _check(only: Mapping[str, Sequence[str]], runs: Sequence[Run]) -> None:
    for field, values in only.items():
        known = list(dict.fromkeys(str(run.get(field)) for run in runs if field in run))
        for value in values:
            if value not in known:
                shown = ", ".join(known[:20]) if known else f"nothing; fields are {', '.join(runs[0] if runs else ())}"
                raise InputError(f"no run has {field}={value}; there are {shown}")


def _among(run: Run, only: Mapping[str, Sequence[str]]) -> bool:
    return all(str(run.get(field)) in values for field, values in only.items())


def write_page(experiment: Experiment, folder: Path) -> Path:
    """The page of what `folder` holds of the experiment."""
    results = Results(folder / f"{experiment.name}.jsonl")
    if not results.rows:
        raise InputError(f"{results.path} holds no results yet; run the experiment first")
    figures = Figures(folder, experiment.name)
    text = experiment.page(results.rows, figures)
    path = folder / f"{experiment.name}.md"
    made = f"Made by `xtrellis experiment {experiment.name}` from {results.path.name}: change that, not this page."
    path.write_text(f"<!-- {made} -->\n# {experiment.title}\n\n{text.strip()}\n", encoding="utf-8")
    return path
