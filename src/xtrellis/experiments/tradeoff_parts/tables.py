"""The page of the tradeoff experiment: tables, with a margin within which a tree counts as no worse, and curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np

from ..figures import Figures, spread, table
from .factors import CHUNK, KS, PARTS, SHAPES, TURNS
from .imbalance import imbalance_page

MARGIN = 0.2  # points of P@1 that a tree may lose and still count as no worse
STUDENT = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78}  # seeds: factor of the standard error for 95%
VARIANTS = (("weighted", "marginal"), ("weighted", "greedy"), ("direct", "marginal"), ("direct", "greedy"))
TITLES = {
    "linear-2": "LinearTree, binary (Parabel's setting)",
    "linear-16": "LinearTree, 16-way",
    "softmax": "SoftmaxTree, binary",
}
JOINED = {"frequency": "by frequency", "levels": "by levels"}
Rows = Sequence[Mapping[str, Any]]

READ = f"""\
A tree counts as **no worse** than the balanced one (λ' = 0, joined alike) if its P@1 is at most {MARGIN} points lower
in the mean over seeds. That is **shown** only if the whole 95% interval of the seeds' paired differences lies above
−{MARGIN}; "±" is half of that interval (Student's t: with three seeds, 4.3 standard errors). Seeds change the training,
not the test rows. The fastest of several is picked from the table itself, with hindsight: on other rows it may be less
ahead.

*Python* is the time of `model.predict` for one row, the least of five turns. *Native* is the kernel's own, in processor
time: {CHUNK} queries in one call, each searched best-first as a single one is, the least of {TURNS} turns, less the
time of a call without rows. The trees of a run take turns; the machine was busy with other work, more so in some runs
than in others, so times compare within a table only.
"""


def page_of(rows: list[dict[str, Any]], figures: Figures, intro: str) -> str:
    """All of it."""
    parts = [intro, READ]
    uneven = [row for row in rows if row.get("part") == "imbalance"]
    rows = [row for row in rows if row.get("part") != "imbalance"]
    if uneven:
        parts += imbalance_page(uneven, figures)
    for data in dict.fromkeys(row["data"] for row in rows):
        parts.append(f"## {data}")
        here = [row for row in rows if row["data"] == data]
        for model in SHAPES:
            mine = [_with_join(row) for row in here if row["model"] == model]
            by_part = {part: [row for row in mine if row.get("part") == part] for part in (*PARTS, "fasttext")}
            curves = [row for row in mine if row.get("part") is None]
            if mine:
                parts.append(f"### {TITLES[model]}")
            factors = by_part["factors"] + _same_trees(by_part["slack"], by_part["factors"])
            if factors:
                parts += _factors(factors)
            if by_part["slack"]:
                parts += _slack(by_part["slack"])
            if by_part["codes"]:
                parts += _codes(by_part["codes"])
            if by_part["asked"]:
                parts += _asked(by_part["asked"])
            if by_part["fasttext"]:
                parts += _fasttext(by_part["fasttext"])
            if curves:
                parts += _curves(data, model, curves, figures)
    return "\n\n".join(part.strip() for part in parts)


def _same_trees(slack: list[dict[str, Any]], factors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of `slack` for seeds that `factors` lacks: the same binary trees, measured alike before slack is tried."""
    seeds = {row["seed"] for row in factors}
    mine = [row for row in slack if row["model"] == "linear-2" and row["seed"] not in seeds]
    return [{name: value for name, value in row.items() if name != "slack"} for row in mine]


def _with_join(row: dict[str, Any]) -> dict[str, Any]:
    """Before the join was a parameter, trees of tradeoff 0 were joined by levels and all others by frequency."""
    old = "levels" if row["model"] == "linear-16" and row["tradeoff"] == "0" else "frequency"
    return {**row, "join": row.get("join", "frequency" if row.get("part") else old)}


def _means(rows: Rows, key: Any) -> dict[Any, dict[str, float]]:
    """Means over the seeds that have it of every number; those of a dictionary are called `latency@1.mean`."""
    groups: dict[Any, list[dict[str, float]]] = {}
    for row in rows:
        flat = {name: value for name, value in row.items() if isinstance(value, (int, float))}
        for name, value in row.items():
            if isinstance(value, dict) and name.startswith(("latency", "queries")):
                flat |= {f"{name}.{part}": number for part, number in value.items()}
        groups.setdefault(key(row), []).append(flat)
    return {
        name: {
            field: float(np.mean([g[field] for g in group if field in g]))
            for field in dict.fromkeys(field for g in group for field in g)
        }
        for name, group in groups.items()
    }


def differences(rows: Rows, base: Rows, metric: str = "P@1") -> list[float]:
    """Of seeds that both have."""
    old = {row["seed"]: row[metric] for row in base}
    return [row[metric] - old[row["seed"]] for row in rows if row["seed"] in old]


def half_width(values: Sequence[float]) -> float | None:
    """Half of the 95% interval of a mean; None for a single value."""
    if len(values) < 2:
        return None
    return float(STUDENT.get(len(values), 2.6) * stdev(values) / len(values) ** 0.5)


def _shift(values: Sequence[float]) -> str:
    half = half_width(values)
    return f"{mean(values):+.2f}" + (f" ± {half:.2f}" if half is not None else "")


def _factors(plain: Rows) -> Iterator[str]:
    seeds = len({row["seed"] for row in plain})
    joins = list(dict.fromkeys(row["join"] for row in plain))
    head = ["λ'", "P@1", "P@1 − balanced", "P@3", "depth@1", "depth@3", "Python µs, k=1", "k=3", "native µs, k=1"]
    head += ["k=3", "k=10"]
    nodes = "nodes@1" in plain[0]
    lines, said = [], []
    for join in joins:
        mine = [row for row in plain if row["join"] == join]
        base = [row for row in mine if row["tradeoff"] == "0"]
        means = _means(mine, lambda row: row["tradeoff"])
        for name, m in means.items():
            values = differences([row for row in mine if row["tradeoff"] == name], base)
            cells = [f"{m['P@1']:.2f}", "" if name == "0" else _shift(values)]
            cells += [f"{m[key]:.2f}" for key in ("P@3", "depth@1", "depth@3")]
            keys = ("latency@1.mean", "latency@3.mean", *(f"native@{k}" for k in KS))
            cells += [f"{m[key]:.1f}" for key in keys]
            lines.append([name, *([JOINED[join]] if len(joins) > 1 else []), *cells])
            if nodes:
                lines[-1].append(f"{m['nodes@1']:.1f}")
        said.append((f"Joined {JOINED[join]}: " if len(joins) > 1 else "") + _verdict(mine, base, means))
    head = [head[0], *(["joined"] if len(joins) > 1 else []), *head[1:], *(["nodes, k=1"] if nodes else [])]
    yield table(head, lines)
    yield " ".join(said) + f" {_seeds(seeds)}, commit {', '.join(dict.fromkeys(r.get('commit', '–') for r in plain))}."
    timed = len({row["seed"] for row in plain if "native@1" in row})
    if timed < seeds:
        yield f"Native times are of {timed} of the {seeds} seeds."
    if len(joins) > 1:
        yield _joins(plain)


def _seeds(n: int) -> str:
    return "Means of one seed" if n == 1 else f"Means of {n} seeds"


def _verdict(rows: Rows, base: Rows, means: Mapping[str, Mapping[str, float]]) -> str:
    """The fastest tree that is no worse than the balanced one, by the kernel's time."""
    by_name = {n: differences([row for row in rows if row["tradeoff"] == n], base) for n in means}
    good = {n: d for n, d in by_name.items() if n not in ("0", "huffman") and d and mean(d) >= -MARGIN}
    if not good:
        return f"No tree with frequencies is within {MARGIN} of the balanced one's P@1."
    said = []
    for k in KS:
        best = min(good, key=lambda name: means[name][f"native@{k}"])
        native, python = (means[best][key] / means["0"][key] - 1 for key in (f"native@{k}", f"latency@{k}.mean"))
        half = half_width(good[best])
        shown = half is not None and mean(good[best]) - half >= -MARGIN
        said.append(
            f"k={k}: λ'={best}, native {native:+.0%}, Python {python:+.0%}, P@1 {_shift(good[best])}"
            + (" (shown)" if shown else " (not shown)")
        )
    return f"The fastest tree that is no worse (margin {MARGIN}): " + "; ".join(said) + "."


def _joins(rows: Rows) -> str:
    lines = []
    for name in dict.fromkeys(row["tradeoff"] for row in rows):
        by_frequency, by_levels = (
            [row for row in rows if row["tradeoff"] == name and row["join"] == join] for join in ("frequency", "levels")
        )
        if by_frequency and by_levels:
            a, b = (_means(part, lambda _: 0)[0] for part in (by_frequency, by_levels))
            cells = [_shift(differences(by_frequency, by_levels, metric)) for metric in ("P@1", "P@3")]
            lines.append([name, *cells, *(f"{a[f'native@{k}'] / b[f'native@{k}'] - 1:+.0%}" for k in KS)])
    head = ["λ'", "P@1", "P@3", "native time, k=1", "k=3", "k=10"]
    return "Joining by frequency against joining by levels, everything else alike:\n\n" + table(head, lines)


def _slack(rows: Rows) -> Iterator[str]:
    lines = []
    for name in dict.fromkeys(row["tradeoff"] for row in rows):
        mine = [row["slack"] for row in rows if row["tradeoff"] == name]
        first = [found[0] for found in mine]
        for place, slack in enumerate(found["slack"] for found in mine[0]):
            here = [found[place] for found in mine]
            cells = []
            for key in ("P@1", "P@3", *(f"nodes@{k}" for k in KS), *(f"native@{k}" for k in KS)):
                if not any(key in found for found in here):
                    cells.append("–")
                    continue
                now, then = (mean(found[key] for found in part if key in found) for part in (here, first))
                change = f"{now - then:+.2f}" if key.startswith("P@") else f"{now / then - 1:+.1%}"
                cells.append(change if place else f"{now:.2f}" if key.startswith("P@") else f"{now:.1f}")
            lines.append([f"{name}, {slack:g}", *cells])
    head = ["λ', slack", "P@1", "P@3", "nodes, k=1", "k=3", "k=10", "native µs, k=1", "k=3", "k=10"]
    yield (
        "`slack`: what best-first search saves by giving up what could beat the k-th label by less than this share "
        "of its score. P@k is that of a search for k labels. Below the first line of a tree: changes against it. "
        f"{_seeds(len({row['seed'] for row in rows}))}.\n\n" + table(head, lines)
    )


def _codes(rows: Rows) -> Iterator[str]:
    lines = []
    for name in dict.fromkeys(row["tradeoff"] for row in rows):
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["tradeoff"] == name:
                many = f"marginal, {row['answers']} answers" if "answers" in row else "marginal"
                groups.setdefault(row.get("frequency", many), []).append(row)
        base = groups["marginal"]
        for what, mine in groups.items():
            m = _means(mine, lambda _: 0)[0]
            shifts = ["", ""] if mine is base else [_shift(differences(mine, base, key)) for key in ("P@1", "P@3")]
            cells = [f"{m['P@1']:.2f}", shifts[0], f"{m['P@3']:.2f}", shifts[1]]
            cells += [f"{m[key]:.2f}" for key in ("depth@1", "depth@3")]
            cells += [f"{m[key]:.1f}" for key in ("latency@1.mean", "latency@3.mean", "nodes@1", "nodes@3", "nodes@10")]
            lines.append([f"{name}, {what}", *cells])
    head = ["λ', f̃", "P@1", "− marginal", "P@3", "− marginal", "depth@1", "depth@3", "Python µs, k=1"]
    head += ["k=3", "nodes, k=1", "k=3", "k=10"]
    yield (
        "Which labels of a row the code counts, f̃ (it has a say above λ' = 1 only): `marginal` its most frequent one, "
        "`soft` half that and half all, `all` all, `greedy` a cover by few labels, and, for searches of more than one "
        f"label, its three most frequent ones. {_seeds(len({row['seed'] for row in rows}))}.\n\n" + table(head, lines)
    )


def _asked(rows: Rows) -> Iterator[str]:
    lines = []
    for name in dict.fromkeys(row["tradeoff"] for row in rows):
        for what, weighted in (("all rows alike", False), ("row weights", True)):
            mine = [row for row in rows if row["tradeoff"] == name and bool(row.get("asked")) is weighted]
            m = _means(mine, lambda _: 0)[0]
            cells = [spread([row["queries"][key] for row in mine]) for key in ("P@1", "depth@1")]
            cells += [f"{m['P@1']:.2f}", f"{m['depth@1']:.2f}"]
            lines.append([f"{name}, {what}", *cells])
    head = ["λ', tree made with", "P@1", "depth@1", "P@1, all rows alike", "depth@1, all rows alike"]
    yield (
        "Row weights. The workload is made up: rows with a label of a random twentieth of all are asked ten times as "
        "often. The first columns are over test rows drawn by that rule. "
        f"{_seeds(len({row['seed'] for row in rows}))}.\n\n" + table(head, lines)
    )


def _fasttext(rows: Rows) -> Iterator[str]:
    means = _means(rows, lambda row: row["tradeoff"])
    lines = []
    for name, m in means.items():
        cells = [f"{m[key]:.2f}" for key in ("P@1", "P@3", "P@5", "depth@1", "depth@3")]
        lines.append([name, *cells, *(f"{m[f'native@{k}']:.1f}" for k in KS)])
    head = ["λ'", "P@1", "P@3", "P@5", "depth@1", "depth@3", "native µs, k=1", "k=3", "k=10"]
    yield (
        "The setting that the paper has for fastText: words and pairs of words, 128 dimensions, 200 passes. "
        f"{_seeds(len({row['seed'] for row in rows}))}.\n\n" + table(head, lines)
    )


def _curves(data: str, model: str, rows: list[dict[str, Any]], figures: Figures) -> Iterator[str]:
    """The whole range of tradeoffs, with fewer seeds."""
    main = [row for row in rows if (row["route"], row["frequency"]) == VARIANTS[0]]
    seeds = len({row["seed"] for row in main})
    means = _means(main, lambda row: (row["tradeoff"], row["join"]))
    mixed = len({join for _, join in means}) > 1
    nodes = "nodes@1" in main[0]
    head = ["λ'", "P@1", "P@3", "depth@1", "depth@3", "mean µs, k=1", "p99", "mean µs, k=3", "p99", "mean µs, k=10"]
    lines = []
    for (name, join), m in means.items():
        cells = [f"{m[key]:.2f}" for key in ("P@1", "P@3", "depth@1", "depth@3")]
        cells += [f"{m[key]:.1f}" for key in ("latency@1.mean", "latency@1.p99", "latency@3.mean", "latency@3.p99")]
        shown = f"{name}, {JOINED[join]}" if mixed and name == "0" else name
        lines.append([shown, *cells, f"{m['latency@10.mean']:.1f}", *([f"{m['nodes@1']:.1f}"] if nodes else [])])
    yield "The whole range, times with Python:"
    yield table([*head, *(["nodes, k=1"] if nodes else [])], lines)
    said = f"{_seeds(seeds)}, commit {', '.join(dict.fromkeys(row.get('commit', '–') for row in main))}."
    if mixed:
        said += (
            " The tree of λ' = 0 is joined by levels and the others by frequency: between them two things differ, and "
            "this table does not say what frequencies in the splits do."
        )
    yield said
    yield _draw(data, model, rows, figures)


def _draw(data: str, model: str, rows: Rows, figures: Figures) -> str:
    key = f"{data}-{model}".replace("/", "-")
    panels = (("depth@1", "P@1"), ("depth@3", "P@3"), ("latency@1.mean", "P@1"), ("latency@3.mean", "P@3"))
    labels = {"latency@1.mean": "mean µs a query, k=1", "latency@3.mean": "mean µs a query, k=3"}
    with figures.draw(key, columns=2, rows=2, size=(4.2, 3.2)) as axes:
        for (x, y), ax in zip(panels, axes, strict=True):
            for route, frequency in VARIANTS:
                chosen = [r for r in rows if (r["route"], r["frequency"]) == (route, frequency)]
                means = _means([r for r in chosen if r["tradeoff"] != "huffman"], lambda row: row["tradeoff"])
                if means:
                    xs, ys = [m[x] for m in means.values()], [m[y] for m in means.values()]
                    ax.plot(xs, ys, ".-", ms=4, lw=1, label=f"{route}, {frequency}")
            huffman = _means([r for r in rows if r["tradeoff"] == "huffman"], lambda row: "huffman")
            for m in huffman.values():
                ax.plot(m[x], m[y], "k*", label="Huffman")
            ax.set_xlabel(labels.get(x, f"expected {x}"))
            ax.set_ylabel(y)
        axes[0].legend(fontsize=7)
    return figures.link(key, f"precision against depth and time on {data}, {TITLES[model]}")
