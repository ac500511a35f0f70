"""What is missing is told before the work; plots are no reason to lose it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis import experiments
from xtrellis.core import progress
from xtrellis.experiments import base
from xtrellis.experiments.base import Experiment


def toy(done: list[int], needs: tuple[str, ...] = ()) -> Experiment:
    def page(rows, figures) -> str:
        with figures.draw("one", columns=2) as (left, right):
            left.plot([1, 2], [3, 4])
            right.legend(*right.get_legend_handles_labels())
        return figures.link("one", "a picture") + f"\n{len(rows)} rows"

    return Experiment(
        name="toy",
        title="Toy",
        data=("none",),
        seeds=1,
        plan=lambda data, seed, small: [{"data": data, "seed": seed}],
        measure=lambda run, bench: done.append(1) or {"value": 1},
        page=page,
        needs=needs,
    )


def test_without_matplotlib_the_page_is_written_without_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    heard: list[str] = []
    with progress.listen(lambda event: heard.append(event.title)):
        path = experiments.run_all(toy([]), tmp_path)
    assert "*(a picture: not drawn, for want of matplotlib)*" in path.read_text()
    assert not list(tmp_path.glob("*.svg"))
    told = next(i for i, line in enumerate(heard) if "no new plots" in line)
    assert told < next(i for i, line in enumerate(heard) if line.startswith("run: "))
    assert "pip install 'xtrellis[bench]'" in heard[told]


def test_other_extras_are_asked_for_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    with pytest.raises(xt.MissingExtraError, match="the experiment toy needs PyTorch"):
        experiments.run_all(toy(done, ("torch",)), tmp_path)
    assert done == []


def test_every_experiment_says_what_it_needs() -> None:
    needs = {name: set(experiments.experiment(name).needs) for name in experiments.EXPERIMENTS}
    assert needs["glas"] == {"torch"}
    assert set().union(*needs.values()) <= set(base.LIBRARIES)
