"""Experiments: what the papers measured, measured again on real data. One module each; results are data.

An experiment is a plan of runs and what to measure in each. Every run becomes one JSON line; runs that the file holds
already are not repeated, so an experiment that was interrupted goes on where it stopped, and the page with its tables
and plots is always made from the lines alone.
"""

from __future__ import annotations

from importlib import import_module

from ..core import InputError, nearest
from .ablations import AsynchronousSoftmaxTree, RandomOverlap
from .base import Experiment, Run, run_all, write_page
from .copies import CopiesReport, copies_report
from .data import Bench, Prepared
from .results import Results, machine, stamp
from .rounds import overlap_rounds

# name -> module; imported when asked for, since some need heavy libraries
EXPERIMENTS: dict[str, str] = {
    name: name for name in ("disentangle", "elias", "encoders", "glas", "living", "rank", "tradeoff", "witnesses")
}


def experiment(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment {name!r}{nearest(name, EXPERIMENTS)}")
    found: Experiment = import_module(f".{EXPERIMENTS[name]}", __package__).EXPERIMENT
    return found


__all__ = [
    "EXPERIMENTS", "AsynchronousSoftmaxTree", "Bench", "CopiesReport", "Experiment", "Prepared", "RandomOverlap",
    "Results", "Run", "copies_report", "experiment", "machine", "overlap_rounds", "run_all", "stamp", "write_page",
]  # fmt: skip
