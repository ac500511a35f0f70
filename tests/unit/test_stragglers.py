"""The simulation in benchmarks/stragglers.py: against sums that are known, and the tasks of a real training."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import xtrellis as xt

PLACE = Path(__file__).parents[2] / "benchmarks" / "stragglers.py"


@pytest.fixture(scope="module")
def simulation():
    spec = importlib.util.spec_from_file_location("stragglers", PLACE)
    module = sys.modules["stragglers"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["stragglers"]


def test_equal_tasks_take_turns(simulation):
    stages = [simulation.Stage("a", [2.0] * 10, driver=5.0), simulation.Stage("b", [1.0] * 3)]
    found = simulation.simulate(stages, simulation.Cluster(2, 2))
    assert found.seconds == 5 + 3 * 2 + 1
    assert found.busy == 23
    assert found.lost == found.failures == 0


def test_nothing_is_lost_but_the_work_of_nodes_that_fail(simulation):
    seconds = np.random.default_rng(0).random(300) * 100
    stages = [simulation.Stage("a", seconds.tolist(), driver=50.0), simulation.Stage("b", seconds.tolist())]
    calm = simulation.simulate(stages, simulation.Cluster(4, 4))
    assert calm.busy == pytest.approx(2 * seconds.sum())
    assert calm.seconds >= 50 + 2 * seconds.sum() / 16
    wild = simulation.simulate(stages, simulation.Cluster(4, 4, mean_life=600.0, repair=60.0, seed=3))
    assert wild.failures > 0
    assert wild.lost > 0
    assert wild.busy - wild.lost == pytest.approx(2 * seconds.sum())  # every task was done once
    assert wild.seconds > calm.seconds
    again = simulation.simulate(stages, simulation.Cluster(4, 4, mean_life=600.0, repair=60.0, seed=3))
    assert again == wild


def test_slow_workers_are_waited_for(simulation):
    stages = [simulation.Stage("a", [1.0] * 400)]
    even, uneven = (simulation.simulate(stages, simulation.Cluster(10, 4, spread=s, seed=1)) for s in (0.0, 0.5))
    assert even.seconds == 10
    assert uneven.seconds > even.seconds
    short = simulation.simulate([simulation.Stage("a", [0.1] * 4000)], simulation.Cluster(10, 4, spread=0.5, seed=1))
    assert short.seconds < uneven.seconds  # many small tasks even out


def test_the_graph_is_that_of_a_training(simulation):
    workers, functions = 3, Counter()

    class Counting(xt.engines.Local):
        far = True

        def run(self, function, tasks, done, *, split=None):
            for name, arguments in tasks:
                functions[function.__name__] += 1
                done(name, function(*arguments))

    data = xt.synthetic(n_rows=8000, n_labels=3000, n_features=2000, seed=0)
    model = xt.LinearTree(index=xt.BalancedTree(arity=8, max_leaf=30), seed=0).fit(data, engine=Counting(workers))
    levels = []
    for level in model.tree.levels():
        children = int(model.tree.offsets[level[-1] + 1] - model.tree.offsets[level[0]])
        levels.append((len(level), children, 8000.0 if len(level) == 1 else 8000.0 * min(2.5, len(level))))
    costs = {"vectors": 10.0, "clusters": 10.0, "routes": 1.0, "blocks": 100.0, "join": 1.0}
    vectors, subtrees, blocks, joining = simulation.graph(
        costs, levels, workers, cores=1, products=data.X.nnz * data.Y.nnz / 8000, entries=0
    )
    assert 0.7 * len(vectors.seconds) <= functions["far_pifa"] <= len(vectors.seconds)  # a label is never cut
    assert len(subtrees.seconds) == functions["split_subtree"]
    assert len(blocks.seconds) == pytest.approx(functions["solve_all"], rel=0.3)
    assert sum(blocks.seconds) == pytest.approx(100, rel=0.1)
    assert not joining.seconds
