"""A training on a cluster, simulated event by event: what slow workers and nodes that fail cost.

    python benchmarks/stragglers.py --rows 100e6 --labels 10e6 --nonzeros 100 --nodes 64 --cores 16

The task graph is that of `engine=`: label vectors as tasks; the driver splits the upper levels; subtrees as tasks; then
blocks of classifiers, segment by segment, cut and grouped as `linear/remote.py` does, the root's in parts. A stage
begins when the one before has ended; within a stage a free worker takes the next task. Seconds come from the cost model
(cost.py). A worker is slow by a factor drawn once (log-normal); a node fails after an exponential time, its tasks begin
anew elsewhere, and it comes back. Tasks are never begun twice to be on the safe side: Ray does not.
"""

from __future__ import annotations

import argparse
import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from xtrellis.index import BalancedTree
from xtrellis.index.halves import subtrees_of
from xtrellis.index.shape import balanced_levels
from xtrellis.labels.space import far_parts
from xtrellis.linear.blocks import GROUP, HUGE, LARGE, MAX_BLOCK, SMALL_GROUP
from xtrellis.linear.remote import LEAST, TASKS
from xtrellis.linear.segments import MAX_SEGMENT


@dataclass(frozen=True)
class Stage:
    """Tasks that may run in any order, after `driver` seconds in which only the driver works."""

    name: str
    seconds: Sequence[float]
    driver: float = 0.0


@dataclass(frozen=True)
class Cluster:
    """`spread` is the deviation of the logarithm of a worker's slowness; times in seconds, 0: nodes never fail."""

    nodes: int
    cores: int
    spread: float = 0.0
    mean_life: float = 0.0
    repair: float = 300.0
    seed: int = 0


@dataclass
class Outcome:
    seconds: float = 0.0
    busy: float = 0.0  # of all workers, lost work included
    lost: float = 0.0
    failures: int = 0


def simulate(stages: Sequence[Stage], cluster: Cluster) -> Outcome:
    """Run the stages one after another on the cluster."""
    rng = np.random.default_rng(cluster.seed)
    slow = np.exp(rng.normal(0.0, cluster.spread, (cluster.nodes, cluster.cores)))
    world = _World(cluster, slow, rng)
    for stage in stages:
        world.now += stage.driver
        world.work(stage.seconds)
    world.outcome.seconds = world.now
    return world.outcome


class _World:
    """Events are (time, number, what, node, core, task); the number keeps equal times in order."""

    def __init__(self, cluster: Cluster, slow: np.ndarray, rng: np.random.Generator) -> None:
        self.cluster, self.slow, self.rng = cluster, slow, rng
        self.now, self.outcome, self._count = 0.0, Outcome(), 0
        self.up = [True] * cluster.nodes
        self.lives = [0] * cluster.nodes  # how often a node has failed: what it ran before does not end
        self.events: list[tuple[float, int, str, int, int, int, int]] = []
        if cluster.mean_life:
            for node in range(cluster.nodes):
                self._at(self._life(), "fails", node)

    def _life(self) -> float:
        return self.now + float(self.rng.exponential(self.cluster.mean_life))

    def _at(self, time: float, what: str, node: int, core: int = -1, task: int = -1) -> None:
        self._count += 1
        heapq.heappush(self.events, (time, self._count, what, node, core, task, self.lives[node]))

    def work(self, seconds: Sequence[float]) -> None:
        """All tasks of a stage."""
        waiting = deque(range(len(seconds)))
        free = [(n, c) for n in range(self.cluster.nodes) if self.up[n] for c in range(self.cluster.cores)]
        running: dict[tuple[int, int], tuple[int, float]] = {}
        left = len(seconds)
        while left:
            while waiting and free:
                node, core = free.pop()
                task = waiting.popleft()
                running[node, core] = task, self.now
                self._at(self.now + seconds[task] * self.slow[node, core], "ends", node, core, task)
            time, _, what, node, core, task, life = heapq.heappop(self.events)
            if what == "ends":
                if life != self.lives[node]:
                    continue  # of a node that has failed meanwhile
                self.now = max(self.now, time)
                self.outcome.busy += self.now - running.pop((node, core))[1]
                free.append((node, core))
                left -= 1
                continue
            self.now = max(self.now, time)
            if what == "returns":
                self.up[node] = True
                free += [(node, c) for c in range(self.cluster.cores)]
                self._at(self._life(), "fails", node)
                continue
            self.outcome.failures += 1
            self.up[node] = False
            self.lives[node] += 1
            for c in range(self.cluster.cores):
                if (node, c) in running:
                    task, begun = running.pop((node, c))
                    self.outcome.busy += self.now - begun
                    self.outcome.lost += self.now - begun
                    waiting.appendleft(task)
            free = [place for place in free if place[0] != node]
            self._at(self.now + self.cluster.repair, "returns", node)


def cut(total: float, n: int) -> list[float]:
    """Tasks of equal work."""
    return [total / n] * n


def blocks(levels: Sequence[tuple[int, int, float]], seconds: float, workers: int) -> Iterator[float]:
    """Seconds of the tasks of classifiers: `levels` are (nodes, children, rows that visit them).

    A node's blocks of up to 256 children are cut at 32 if the node would leave workers idle and has many rows, at 4 if
    it has so many that these are groups of their own; small blocks of a segment go together until they are a share of
    its work.
    """
    total = sum(visits * children / nodes for nodes, children, visits in levels)
    for nodes, children, visits in levels:
        per_node, rows = children / nodes, visits / nodes
        segments = max(1, round(children / MAX_SEGMENT)) if nodes > 1 else 1
        in_segment = max(1, round(nodes / segments))
        wide = per_node <= workers * MAX_BLOCK and rows * min(per_node, MAX_BLOCK) >= LARGE
        huge = rows * min(per_node, MAX_BLOCK) >= HUGE
        piece = rows * min(per_node, SMALL_GROUP if huge else GROUP if wide else MAX_BLOCK)
        a_node = max(1, round(rows * per_node / piece))
        enough = max(LEAST, in_segment * rows * per_node / (TASKS * workers))
        together = max(1, int(enough // piece))
        for _ in range(segments):
            pieces = in_segment * a_node
            while pieces > 0:
                some = min(pieces, together)
                yield seconds * some * piece / total
                pieces -= some


def graph(
    core_seconds: dict[str, float],
    levels: Sequence[tuple[int, int, float]],
    workers: int,
    cores: int,
    *,
    products: float,
    entries: float,
) -> list[Stage]:
    """The stages of a training by what they cost; label vectors by their multiply-adds and what they hold."""
    bits = sum(max(1, round(np.log2(max(2, children / nodes)))) for nodes, children, _ in levels)
    top = min(bits, int(np.ceil(np.log2(subtrees_of(int(entries), workers)))))
    clusters = core_seconds["clusters"]
    return [
        Stage("label vectors", cut(core_seconds["vectors"], far_parts(int(products), workers))),
        Stage("subtrees", cut(clusters * (bits - top) / bits, 1 << top), driver=clusters * top / bits / cores),
        Stage("classifiers", list(blocks(levels, core_seconds["blocks"], workers)), driver=core_seconds["routes"]),
        Stage("joining", [], driver=core_seconds["join"]),
    ]


def main() -> None:
    from common import record
    from cost import expected, fitted, imagined, read_lines

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("rows", 100e6), ("labels", 10e6), ("features", 3e6)):
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--nonzeros", type=int, default=100)
    parser.add_argument("--labels-a-row", type=float, default=3)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--cores", type=int, default=16)
    args = parser.parse_args()
    lines = read_lines()
    constants = fitted([line for line in lines if line["use"] == "fit"])
    like = max((line for line in lines if line["use"] in ("fit", "check")), key=lambda line: line["visits"])
    shape = imagined(args, like)
    a_level = shape["visits"] / shape["levels"]
    levels = [
        (level.nodes, level.children, args.rows if level.nodes == 1 else a_level)
        for level in balanced_levels(int(args.labels), BalancedTree().arity, BalancedTree().max_leaf)
    ]
    workers = args.nodes * args.cores
    products = shape["pairs"] * shape["nonzeros"]
    costs = expected(constants, shape)
    stages = graph(costs, levels, workers, args.cores, products=products, entries=shape["entries"])
    for spread, life in ((0.0, 0.0), (0.3, 0.0), (0.0, 24.0), (0.3, 24.0), (0.3, 4.0)):
        runs = [simulate(stages, Cluster(args.nodes, args.cores, spread, 3600 * life, seed=seed)) for seed in range(5)]
        told = {
            "hours": round(float(np.mean([run.seconds for run in runs])) / 3600, 3),
            "failures": round(float(np.mean([run.failures for run in runs])), 2),
            "lost_share": round(float(np.mean([run.lost / run.busy for run in runs])), 5),
        }
        settings = {"nodes": args.nodes, "cores": args.cores, "spread": spread, "mean_life_hours": life}
        record("stragglers", rows=args.rows, labels=args.labels, seeds=5, **settings, **told)
        print(settings, told)


if __name__ == "__main__":
    main()
