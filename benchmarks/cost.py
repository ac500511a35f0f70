"""What each stage of a training costs, and what that says about sizes that nobody here can run.

    python benchmarks/cost.py measure --rows 40000 --labels 20000 [--features 10000] [--nonzeros 30] [--use check]
    python benchmarks/cost.py fit
    python benchmarks/cost.py lanes
    python benchmarks/cost.py ask --rows 100e6 --labels 10e6 --features 3e6 --nonzeros 100 --nodes 64 --cores 16

`measure` trains xr-linear on synthetic rows stage by stage on one thread, and records processor seconds beside the
counts that they should grow with. `fit` finds one constant a count (least squares of relative errors, none below 0) on
the lines that are not for checking, and compares with those that are. `lanes` measures what a root costs whose 16
classifiers are solved 16, 8 or 4 at a time, as those of huge nodes are. `ask` multiplies.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from common import RESULTS, record
from scipy.optimize import nnls

import xtrellis as xt
from xtrellis._native import linear as native
from xtrellis.data import TrainingData
from xtrellis.index import BalancedTree, build_tree
from xtrellis.index.shape import balanced_levels
from xtrellis.labels import LabelSpace
from xtrellis.linear.blocks import GROUP, HUGE, MAX_BLOCK, SMALL_GROUP, groups
from xtrellis.linear.memory import give_back
from xtrellis.linear.packed import PackedTree, ranks_by_frequency
from xtrellis.linear.routes import Routes, Visitors
from xtrellis.linear.segments import MAX_SEGMENT
from xtrellis.linear.train import MANY, Trainer

TEST_ROWS = 20_000
STAGES = {  # seconds of a stage = Σ constant × count
    "vectors": ("products", "wide_products"),
    "clusters": ("growing_entries",),
    "routes": ("pairs_by_level", "labels_by_segment", "visits"),
    "blocks": ("growing_visits", "growing_work", "wide_work", "model_bytes"),
    "join": ("model_bytes",),
}


class Stages:
    """Of every stage: processor seconds, seconds by the clock, and the largest resident set, in GB."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.wall: dict[str, float] = {}
        self.peak_gb: dict[str, float] = {}

    def __call__(self, stage: str, function: Any, *given: Any, **named: Any) -> Any:
        Path("/proc/self/clear_refs").write_text("5")  # the largest resident set is counted from here on
        begun, spent = time.perf_counter(), time.process_time()
        made = function(*given, **named)
        self.seconds[stage] = round(time.process_time() - spent, 4)
        self.wall[stage] = round(time.perf_counter() - begun, 4)
        lines = Path("/proc/self/status").read_text().splitlines()
        most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        self.peak_gb[stage] = round(most * 1024 / 1e9, 3)
        print(f"{stage:10}{self.seconds[stage]:10.2f} s{self.peak_gb[stage]:8.2f} GB", flush=True)
        return made


def measure(args: argparse.Namespace) -> None:
    timed = Stages()
    world = {
        "n_labels": args.labels, "n_features": args.features, "features_per_row": args.nonzeros, "seed": args.seed
    }  # fmt: skip
    data = timed("data", xt.synthetic, n_rows=args.rows, **world)
    rows = TrainingData.of(data, None).at_unit_length()
    del data
    model = xt.LinearTree(seed=0, threads=args.threads)
    space = LabelSpace(rows, threads=args.threads)
    entries = timed("vectors", count_entries, space)
    tree = timed("clusters", build_tree, model.index, space, seed=0)
    del space
    give_back()
    trainer = Trainer(
        rows.X,
        rows.Y,
        tree,
        model.solver(),
        model.negative_rows(),
        storage=model.storage,
        seed=0,
        threads=args.threads,
    )
    nonzeros = rows.X.nnz / rows.n_rows
    counted = timed("routes", count_visits, trainer, nonzeros)
    segments = timed("blocks", trainer.train)
    timed.seconds["blocks"] = round(timed.seconds["blocks"] - timed.seconds["routes"], 4)
    joining = {
        "transform": model.transform, "storage": model.storage, "label_ranks": ranks_by_frequency(rows.label_counts)
    }  # fmt: skip
    packed = timed("join", PackedTree.join, tree, segments, rows.n_features, **joining)
    shape = {
        "rows": rows.n_rows, "labels": rows.n_labels, "features": rows.n_features,
        "nonzeros": round(nonzeros, 3), "pairs": int(rows.Y.nnz),
        "levels": len(trainer.levels), "segments": sum(map(len, trainer.levels)),
        "entries": entries, "model_bytes": int(packed.n_bytes), **counted,
    }  # fmt: skip
    trained = xt.LinearTree.of_trees([packed], model).set_params(threads=args.threads)
    del trainer, segments, packed, rows
    with tempfile.TemporaryDirectory() as place:
        timed("save", trained.save, f"{place}/model")
    test = xt.synthetic(n_rows=TEST_ROWS, first_row=args.rows, **world)
    top = timed("predict", trained.predict, test.X, k=5)
    found = {name: round(float(value), 2) for name, value in xt.evaluate(test.Y, top, metrics=["P@1", "P@5"]).items()}
    record(
        "cost", use=args.use, curve=args.curve, seed=args.seed, threads=args.threads, **shape, seconds=timed.seconds,
        wall=timed.wall, peak_gb=timed.peak_gb, test_rows=TEST_ROWS, **found,
    )  # fmt: skip
    print(json.dumps({**shape, "seconds": timed.seconds, **found}))


def count_entries(space: LabelSpace) -> int:
    """Of the label vectors, which are made by that."""
    return int(space.vectors.nnz)


def count_visits(trainer: Trainer, nonzeros: float) -> Counter[str]:
    """What the classifiers grow with, found by routing all rows."""
    out: Counter[str] = Counter()
    for some in route_all(trainer):
        here = np.diff(some.node_offsets)
        children = np.diff(trainer.tree.offsets[some.first : some.first + len(here) + 1])
        passes = here * -(-children // GROUP) * nonzeros
        out["visits"] += int(here.sum())
        out["work"] += int(passes.sum())
        out["growing_work"] += int((passes * here**0.25).sum())
    return out


def route_all(trainer: Trainer) -> Iterator[Routes]:
    """As a training does it, segment by segment."""
    visitors = None
    for level in trainer.levels:
        if len(level) >= MANY:
            visitors = visitors or Visitors(trainer.Y, trainer.tree)
            visitors.begin_level(level[0][0], level[-1][1])
        for span in level:
            yield visitors.routes(*span) if len(level) >= MANY else Routes.of_nodes(trainer.Y, trainer.tree, *span)


def counts(line: dict[str, Any]) -> dict[str, float]:
    """What the stages grow with."""
    bits = max(1.0, np.ceil(np.log2(line["labels"] / BalancedTree().max_leaf)))
    return {
        "products": line["pairs"] * line["nonzeros"],
        "wide_products": line["pairs"] * line["nonzeros"] * line["features"] ** 0.5,  # sums no longer in the cache
        "growing_entries": line["entries"] * bits * line["labels"] ** 0.25,
        "pairs_by_level": line["pairs"] * line["levels"],
        "labels_by_segment": line["labels"] * line["segments"],
        "visits": line["visits"],
        # rows × non-zeros × groups of 32 classifiers × (rows of the node)^¼: more rows take more epochs
        "growing_work": line["growing_work"],
        "growing_visits": line["growing_work"] / line["nonzeros"],  # what a visit costs whatever its row holds
        "wide_work": line["growing_work"] * line["features"] ** 0.25,
        "model_bytes": line["model_bytes"],
    }


def fitted(lines: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Seconds for each one of a count, by stage."""
    out = {}
    for stage, names in STAGES.items():
        seconds = np.array([max(1e-4, line["seconds"][stage]) for line in lines])
        table = np.array([[counts(line)[name] for name in names] for line in lines])
        scale = table.max(axis=0)
        found, _ = nnls(table / scale / seconds[:, None], np.ones(len(lines)))
        out[stage] = {name: float(value) for name, value in zip(names, found / scale, strict=True)}
    return out


def expected(constants: dict[str, dict[str, float]], line: dict[str, Any]) -> dict[str, float]:
    """Core-seconds of each stage."""
    known = counts(line)
    return {stage: sum(known[name] * each for name, each in terms.items()) for stage, terms in constants.items()}


def read_lines() -> list[dict[str, Any]]:
    """Those with the largest resident set of every stage; older ones are of other kernels on another machine."""
    lines = [json.loads(line) for line in (RESULTS / "cost.jsonl").read_text().splitlines()]
    return [line for line in lines if "peak_gb" in line]


def fit(_: argparse.Namespace) -> None:
    lines = [line for line in read_lines() if line["use"] in ("fit", "check")]
    constants = fitted([line for line in lines if line["use"] == "fit"])
    for stage, terms in constants.items():
        print(stage, ", ".join(f"{1e9 * value:.3g} ns × {name}" for name, value in terms.items()))
    for line in lines:
        each = expected(constants, line)
        found, told = sum(line["seconds"][stage] for stage in STAGES), sum(each.values())
        shape = f"{line['rows']:,} rows, {line['labels']:,} labels, {line['nonzeros']:.0f} non-zeros"
        print(f"{line['use']}: {shape}: {found:.2f} s measured, {told:.2f} s by the model ({told / found - 1:+.0%})")
        if line["use"] == "check":
            stages = {stage: [line["seconds"][stage], round(each[stage], 2)] for stage in STAGES}
            print("    measured and by the model:", stages)
            record("cost", use="checked", shape=shape, measured=round(found, 3), modelled=round(told, 3), stages=stages)


def lanes(args: argparse.Namespace) -> None:
    """Processor seconds of a root by how many of its classifiers are solved together; the least of three turns."""
    data = xt.synthetic(
        n_rows=args.rows, n_labels=args.labels, n_features=args.features, features_per_row=args.nonzeros, seed=0
    )
    rows, model = TrainingData.of(data, None).at_unit_length(), xt.LinearTree(seed=0, threads=1)
    tree = build_tree(model.index, LabelSpace(rows, threads=1), seed=0)
    routes, how, X = Routes.of_nodes(rows.Y, tree, 0, 1), model.solver(), rows.X
    spent: dict[int, list[float]] = {16: [], 8: [], 4: []}
    for _ in range(3):
        for width, turns in spent.items():
            begun = time.process_time()
            for first, count in groups(0, 16, width):
                native.train(
                    X.indptr, X.indices, X.data, X.shape[1], routes.rows, routes.positive_offsets, routes.positives,
                    np.zeros(0, np.float32), first=first, count=count, bias=how.bias, loss=0,
                    cost_positive=how.cost_positive, cost_negative=how.cost_negative, tolerance=how.tolerance,
                    epochs=how.epochs, threshold=how.prune, max_weights=how.max_weights, key=1, files=None,
                )  # fmt: skip
            turns.append(time.process_time() - begun)
    told = {str(width): round(min(turns), 3) for width, turns in spent.items()}
    shape = {"rows": rows.n_rows, "labels": rows.n_labels, "features": rows.n_features, "nonzeros": args.nonzeros}
    record("cost", use="lanes", seed=0, **shape, root_seconds=told)
    print(told)


def alone(read: list[dict[str, Any]]) -> float:
    """What a group of 4 costs of one of 16, by the newest line."""
    told = [line["root_seconds"] for line in read if line.get("use") == "lanes"]
    return told[-1]["4"] / told[-1]["16"] / 4 if told else 1.0


def every_line() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RESULTS / "cost.jsonl").read_text().splitlines()]


def imagined(args: argparse.Namespace, like: dict[str, Any]) -> dict[str, Any]:
    """The counts of a training nobody has run; what shapes do not tell is as in the largest run that was measured."""
    n, labels, pairs = int(args.rows), int(args.labels), int(args.rows * args.labels_a_row)
    levels = balanced_levels(labels, BalancedTree().arity, BalancedTree().max_leaf)
    a_visit = like["visits"] / like["levels"] / like["pairs"]  # nodes of a level that a label leads a row to
    visits = [n if level is levels[0] else min(n * level.nodes, pairs * a_visit) for level in levels]
    small = alone(every_line())

    def passes_of(rows: float, children: float) -> float:
        """Groups, those of huge nodes by what they cost."""
        huge = rows * min(children, MAX_BLOCK) >= HUGE
        return -(-children // SMALL_GROUP) * small if huge else -(-children // GROUP)

    passes = [
        v * passes_of(v / level.nodes, level.children // level.nodes) * args.nonzeros
        for v, level in zip(visits, levels, strict=True)
    ]
    sizes = [(v / level.nodes) ** 0.25 for v, level in zip(visits, levels, strict=True)]
    classifiers = sum(level.children for level in levels)
    own = like["entries"] / like["pairs"] / like["nonzeros"]  # of the entries of its rows, so many are different
    a_classifier = like["model_bytes"] / like["labels"] * args.nonzeros / like["nonzeros"]
    return {
        "rows": n, "labels": labels, "features": int(args.features), "nonzeros": args.nonzeros, "pairs": pairs,
        "levels": len(levels), "segments": sum(max(1, round(level.children / MAX_SEGMENT)) for level in levels),
        "visits": int(sum(visits)), "work": sum(passes),
        "growing_work": float(np.dot(passes, sizes)), "entries": pairs * args.nonzeros * own,
        "model_bytes": classifiers * a_classifier,
    }  # fmt: skip


def ask(args: argparse.Namespace) -> None:
    lines = read_lines()
    constants = fitted([line for line in lines if line["use"] == "fit"])
    like = max((line for line in lines if line["use"] in ("fit", "check")), key=lambda line: line["visits"])
    line = imagined(args, like)
    seconds, workers = expected(constants, line), args.nodes * args.cores
    a_level = seconds["clusters"] / max(1, np.ceil(np.log2(line["labels"] / 100)))
    top = a_level * np.ceil(np.log2(4 * workers)) / args.cores  # the driver splits these levels on its own cores
    told = {
        "core_hours": {stage: round(float(value) / 3600, 5) for stage, value in seconds.items()},
        "hours": {
            "label vectors (tasks)": seconds["vectors"] / workers / 3600,
            "clusters, upper levels (driver)": top / 3600,
            "clusters, subtrees (tasks)": seconds["clusters"] / workers / 3600,
            "routes (driver, one thread)": seconds["routes"] / 3600,
            "classifiers (tasks)": seconds["blocks"] / workers / 3600,
            "joining (driver)": seconds["join"] / 3600,
        },
        "gigabytes": {
            "data folder": (8 * line["rows"] * line["nonzeros"] + 4 * line["pairs"] + 16 * line["rows"]) / 1e9,
            "label vectors (driver)": 8 * line["entries"] / 1e9,
            "labels × rows (driver)": 12 * line["pairs"] / 1e9,
            "largest task: root, part of 4 classifiers": 8 * line["rows"] * line["nonzeros"] / 1e9,
            "what the solver knows of the root's rows": (16 + 8 * 2 + 4 * 4 + 32) * line["rows"] / 1e9,
            "model": line["model_bytes"] / 1e9,
            "rows read by tasks": 8 * line["visits"] * line["nonzeros"] / 1e9,
            "rows read for label vectors": 8 * line["pairs"] * line["nonzeros"] / 1e9,
            "row numbers sent": 16 * line["visits"] / 1e9,
        },
    }
    for group in ("hours", "gigabytes"):
        told[group] = {name: round(value, 3) for name, value in told[group].items()}
    record("cost", use="asked", nodes=args.nodes, cores=args.cores, **line, told=told)
    print(json.dumps(told, indent=2, ensure_ascii=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in (("measure", measure), ("fit", fit), ("lanes", lanes), ("ask", ask)):
        command = commands.add_parser(name)
        command.set_defaults(function=function)
        if name != "fit":
            command.add_argument("--rows", type=float, default=20_000)
            command.add_argument("--labels", type=float, default=5_000)
            command.add_argument("--features", type=float, default=10_000)
            command.add_argument("--nonzeros", type=int, default=30)
        if name == "measure":
            command.add_argument("--use", choices=["fit", "check"], default="fit")
            command.add_argument("--seed", type=int, default=0)
            command.add_argument("--threads", type=int, default=1)
            command.add_argument("--curve", choices=["rows", "labels", "features", "nonzeros"], help="it belongs to")
        if name == "ask":
            command.add_argument("--labels-a-row", type=float, default=3)
            command.add_argument("--nodes", type=int, default=64)
            command.add_argument("--cores", type=int, default=16)
    args = parser.parse_args()
    for name in ("rows", "labels", "features"):
        if hasattr(args, name):
            setattr(args, name, int(getattr(args, name)))
    args.function(args)


if __name__ == "__main__":
    main()
