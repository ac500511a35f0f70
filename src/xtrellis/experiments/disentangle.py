"""Overlapping clusters on labels with several meanings (Liu et al. 2021, Figures 2 and 3, Tables 3 to 5, A.8)."""

from __future__ import annotations

from collections import defaultdict
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..catalog import preset
from ..index import BalancedTree, InterpolatedTree, Overlap
from ..labels import entangle, fuse
from ..linear import LinearTree
from ..metrics import bootstrap, per_row
from .ablations import RandomOverlap
from .base import Experiment, Run
from .copies import plain_mean, search_coverage
from .data import Bench, Prepared
from .disentangle_parts.costs import (
    BARE,
    DEEP,
    FORMER,
    PRESET,
    XR_LINEAR,
    cost,
    costs_table,
    deep_cost,
    measure_presets,
    presets_table,
)
from .disentangle_parts.tries import measure_tries, tries_table
from .figures import Figures, table
from .measure import quality

SIZES = (2, 4, 6, 8, 10, 12, 16)
MODES = ("easy", "medium", "hard")
MANY, COVERING = (12, 16), ("coverage", "coverage, out of fold")
COPIES = (1, 2, 3, 4, 5, 6)
LIMIT = 200  # labels in a cluster, as in the preset
RANDOM = "random copies"
PLAIN_MEAN = "overlap, plain mean"
SMALL = "small clusters"  # at most 100 labels, which begin as 50, two places, beam 7: the preset of earlier versions
VARIANTS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "overlap": {},
    PLAIN_MEAN: {},
    "overlap, best counts": {"merge": "max"},
    "no limit": {"max_cluster_size": None, "merge": "max"},
    "out of fold": {"folds": 2, "merge": "max"},
    "coverage": {"assign": "coverage", "merge": "max"},
    "coverage, out of fold": {"assign": "coverage", "folds": 2, "merge": "max"},
    "no update": {"update": False},
    RANDOM: {"max_cluster_size": None},
    "two rounds": {"rounds": 2},
    SMALL: {"max_cluster_size": 100, "merge": "max"},
    PRESET: {},
    BARE: None,
    "interpolated": {"merge": "max"},
}
BY_FREQUENCY = "interpolated"  # with and without overlap, both over an InterpolatedTree
COSTS = ("overlap", "overlap, best counts", "no limit", "coverage, out of fold", SMALL, PRESET, BARE, "no update", DEEP)
METRICS = ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5")


LEGEND = (
    "*Covered* is the share of test rows' labels among all labels that search looks at (of at most 4,096 rows). "
    "*Overlap* takes the mean of a label's places that are not far behind the best; *plain mean* that of all "
    "places found, as in the paper; *best counts* the best one. All that follow but *no update*, *random copies* "
    "and *two rounds* take the best. *No limit*: clusters as large as the closed form makes them. *Out of fold*: "
    "rows are led by classifiers that have not seen them. *Coverage*: a second place only where it covers two "
    "rows anew. *Small clusters*: at most 100 labels, begun with 50, beam 7. *Preset*: three places, clusters of "
    "at most 150, arity 32, beam 6, weights of one byte, tolerance 0.5; and the same without overlap."
)


def plan(data: str, seed: int, small: bool) -> list[Run]:
    """(a) fused labels, (b) numbers of copies, (c) variants on the data as it is, (d) what they cost: wants a quiet
    machine (`--only part=cost`)."""
    sizes, modes = ((8,), ("easy", "hard")) if small else (SIZES, MODES)
    copies, variants = ((2, 4), ["none", "overlap", RANDOM, PRESET]) if small else (COPIES, list(VARIANTS))
    runs: list[Run] = [
        {"part": "fused", "data": data, "seed": seed, "k": k, "mode": mode} for k in sizes for mode in modes
    ]
    if not small:  # where labels have many meanings and clusters are few
        runs += [
            {"part": "fused", "data": data, "seed": seed, "k": k, "mode": mode, "variant": variant}
            for k in MANY for mode in modes for variant in COVERING
        ]  # fmt: skip
    runs += [{"part": "copies", "data": data, "seed": seed, "copies": c} for c in copies]
    runs += [{"part": "variant", "data": data, "seed": seed, "variant": v} for v in variants]
    runs.append({"part": "presets", "data": data, "seed": seed})
    if seed == 0 and not small:
        runs.append({"part": "tries", "data": data, "seed": seed})
    if seed == 0:
        known = [v for v in COSTS if v != DEEP or find_spec("torch")]
        runs += [{"part": "cost", "data": data, "seed": seed, "variant": v} for v in known]
        runs += [{"part": "cost", "data": data, "seed": seed, "copies": c} for c in copies]
    return runs


def measure(run: Run, bench: Bench) -> list[dict[str, Any]]:
    """One run: the model, and to compare row by row the one without overlap."""
    data, seed = bench.data(run["data"]), int(run["seed"])
    if run["part"] == "fused":
        fused, where = entangle(data.train, int(run["k"]), mode=run["mode"], seed=seed)
        data = Prepared(data.name, fused, fuse(data.test, where))
    if run.get("variant") == DEEP:
        return [deep_cost(data, seed, bench.threads)]
    if run["part"] == "presets":
        return measure_presets(_presets(seed, bench.threads), data, METRICS, seed)
    if run["part"] == "tries":
        return measure_tries(data, _presets(seed, bench.threads), seed, bench.threads)
    plain, model = _models(run, bench.threads)
    if run["part"] == "cost":
        return [cost(plain, model, data)]
    for it in (plain, model):
        it.fit(data.train.X, data.train.Y)
    tops = {"plain": plain.predict(data.test.X, k=5), "model": model.predict(data.test.X, k=5)}
    if run.get("variant") == PLAIN_MEAN:
        tops["model"] = plain_mean(model, data.test.X, 5)
    values = {name: np.asarray(per_row(data.test.Y, top, "P@5")) for name, top in tops.items()}
    gain = bootstrap(values["model"] - values["plain"], seed=seed)
    found = {name: quality(data, top, METRICS) for name, top in tops.items()}
    covered = {name: search_coverage(it, data.test.X, data.test.Y) for name, it in (("plain", plain), ("model", model))}
    rounds = model.overlap_rounds[0]
    return [
        {
            **found["model"],
            **{f"plain {name}": value for name, value in found["plain"].items()},
            "gain": round(gain.mean, 4), "gain low": round(gain.low, 4), "gain high": round(gain.high, 4),
            "covered": round(100 * covered["model"], 3), "plain covered": round(100 * covered["plain"], 3),
            "bytes": model.trees[0].n_bytes, "plain bytes": plain.trees[0].n_bytes,
            "places": len(model.tree.label_slots[1]) / model.n_labels,
            "rounds": [str(told) for told in rounds], "largest": rounds[-1].largest if rounds else None,
        }
    ]  # fmt: skip


def _models(run: Run, threads: int | None) -> tuple[LinearTree, LinearTree]:
    """Without and with overlap, as the run wants it."""
    variant = run.get("variant")
    wanted: dict[str, Any] | None = VARIANTS[variant] if variant is not None else {}
    if "copies" in run:
        wanted = {"copies": int(run["copies"])}
        if run["part"] == "cost":
            wanted["merge"] = "max"  # as in the preset
    plain = LinearTree(seed=int(run["seed"]), threads=threads)
    if variant == BY_FREQUENCY:
        plain.set_params(index=InterpolatedTree())
    if variant in (PRESET, BARE):
        model = preset("overlap", seed=plain.seed, threads=threads)
        assert isinstance(model, LinearTree)  # what the preset is
        return plain, model.set_params(overlap=None) if variant == BARE else model
    params = None if wanted is None else {"max_cluster_size": LIMIT * int(wanted.get("copies", 2)) // 2, **wanted}
    kind = RandomOverlap if variant == RANDOM else Overlap
    model = plain.clone().set_params(overlap=None if params is None else kind(**params))
    return plain, model.set_params(index=BalancedTree(max_leaf=50), beam=7) if variant == SMALL else model


def _presets(seed: int, threads: int | None) -> dict[str, LinearTree]:
    """What is compared in precision, time and size together."""
    made = {
        name: _models({"variant": what, "seed": seed}, threads) for name, what in ((FORMER, SMALL), (PRESET, PRESET))
    }
    bare = _models({"variant": BARE, "seed": seed}, threads)[1]
    return {XR_LINEAR: made[FORMER][0], FORMER: made[FORMER][1], PRESET: made[PRESET][1], BARE: bare}


def page(rows: list[dict[str, Any]], figures: Figures) -> str:
    """Tables and plots of what there is."""
    parts = [
        "Labels may sit in two clusters of the tree instead of one, where search leads the rows that have them. P@5 on "
        f"the test part; clusters of at most {LIMIT} labels for two copies; the mean of all seeds. Intervals are 95 % "
        "bootstraps over test rows of the difference to the same tree without overlap, averaged over seeds."
    ]
    fused = [row for row in rows if row["part"] == "fused" and "variant" not in row]
    if fused:
        parts += ["## Fused labels: gain in P@5 over no overlap", _fused(fused, figures)]
    covering = [row for row in rows if row["part"] == "fused" and row.get("k") in MANY]
    if len(covering) > len([row for row in covering if "variant" not in row]):
        parts += ["## Many fused labels, by how places are chosen", _covering(covering)]
    copies = [row for row in rows if row["part"] == "copies"]
    if copies:
        parts += ["## Places a label", _grouped(copies, "copies")]
    variants = [row for row in rows if row["part"] == "variant"]
    if variants:
        parts += ["## Variants", LEGEND, _grouped(variants, "variant")]
    presets = [row for row in rows if row["part"] == "presets"]
    if presets:
        parts += ["## The preset", presets_table(presets, METRICS)]
    tries = [row for row in rows if row["part"] == "tries"]
    if tries:
        parts += ["## What was tried for the preset", tries_table(tries)]
    costs = [row for row in rows if row["part"] == "cost"]
    if costs:
        parts += ["## What they cost", costs_table(costs, COSTS, COPIES)]
    return "\n\n".join(parts)


def _mean(rows: list[dict[str, Any]], field: str) -> float:
    return float(np.mean([row[field] for row in rows]))


def _known(rows: list[dict[str, Any]], field: str) -> str:
    """The mean, or nothing where it was not measured."""
    return f"{_mean(rows, field):.2f}" if all(row.get(field) is not None for row in rows) else ""


def _fused(rows: list[dict[str, Any]], figures: Figures) -> str:
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["mode"], row["k"]].append(row)
    names = sorted({data for data, _, _ in groups})
    lines = []
    with figures.draw("fused", columns=len(names)) as axes:
        for axis, data in zip(axes, names, strict=True):
            for mode in MODES:
                points = sorted(k for d, m, k in groups if (d, m) == (data, mode))
                found = [groups[data, mode, k] for k in points]
                relative = [100 * (_mean(g, "P@5") / max(1e-9, _mean(g, "plain P@5")) - 1) for g in found]
                axis.plot(points, relative, marker="o", label=mode)
            axis.set(title=data, xlabel="labels fused into one", ylabel="relative gain in P@5, %")
            axis.legend()
    for (data, mode, k), group in sorted(groups.items()):
        lines.append([
            f"{data}, {mode}", k, f"{_mean(group, 'plain P@5'):.2f}", f"{_mean(group, 'P@5'):.2f}",
            f"{100 * (_mean(group, 'P@5') / max(1e-9, _mean(group, 'plain P@5')) - 1):+.2f} %",
            _interval(group), len(group),
        ])  # fmt: skip
    head = ("data", "fused", "P@5 without", "P@5 with", "relative", "gain in points", "seeds")
    return figures.link("fused", "Gain by the number of fused labels") + "\n\n" + table(head, lines)


def _covering(rows: list[dict[str, Any]]) -> str:
    """Counts and coverage side by side, where both were measured."""
    groups: dict[tuple[str, str, int], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[row["data"], row["mode"], row["k"]][row.get("variant", "counts")].append(row)
    lines = [
        [f"{data}, {mode}", k, *(_interval(found[name]) if name in found else "" for name in ("counts", *COVERING))]
        for (data, mode, k), found in sorted(groups.items())
        if len(found) > 1
    ]
    return table(("data", "fused", "counts", *COVERING), lines)


def _grouped(rows: list[dict[str, Any]], by: str) -> str:
    groups: dict[tuple[str, Any], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row[by]].append(row)
    order = list(VARIANTS) if by == "variant" else sorted({value for _, value in groups})
    lines = []
    for data in sorted({data for data, _ in groups}):
        for value in order:
            group = groups.get((data, value))
            if group:
                lines.append([
                    data, value, *(_known(group, name) for name in METRICS), _interval(group), _known(group, "covered"),
                    _known(group, "places"), f"{_mean(group, 'bytes') / _mean(group, 'plain bytes'):.2f}×", len(group),
                ])  # fmt: skip
    head = ("data", by, *METRICS, "gain in P@5", "covered, %", "places a label", "size", "seeds")
    return table(head, lines)


def _interval(group: list[dict[str, Any]]) -> str:
    return f"{_mean(group, 'gain'):+.2f} [{_mean(group, 'gain low'):+.2f}, {_mean(group, 'gain high'):+.2f}]"


EXPERIMENT = Experiment(
    name="disentangle",
    title="Labels with several meanings: overlapping clusters",
    data=("stackexchange", "yso-100k", "debian-depends"),
    seeds=3,
    plan=plan,
    measure=measure,
    page=page,
)
