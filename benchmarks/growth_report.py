"""The part of docs/performance.md that tells how cost grows: exponents that are fitted to growth.jsonl, and plots."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]
Table = Callable[[list[str], list[list[str]]], Iterator[str]]

ENGINES = {"xtrellis xr-linear": "#1b6ca8", "pecos": "#d1495b", "xtrellis parabel": "#63b0cd", "omikuji": "#edae49"}
PAIRS = {"xtrellis xr-linear": "pecos", "xtrellis parabel": "omikuji"}
# sweep -> (what it is called, how large a line is in it)
SWEEPS: dict[str, tuple[str, Callable[[Line], float]]] = {
    "rows": ("training rows", lambda line: float(line["rows"])),
    "labels": ("labels with rows", lambda line: float(line["labels_with_rows"])),
    "features": ("features", lambda line: float(line["features"])),
    "nonzeros": ("non-zeros a row", lambda line: float(line["nonzeros_a_row"])),
}
# field -> (title, factor to what is shown, digits)
MEASURES = {
    "train_cpu_seconds": ("training, s", 1.0, 2), "batch_cpu_ms": ("batch, µs a row", 1e3, 1),
    "p50_us": ("single query, µs", 1.0, 0), "added_mb": ("memory of training, MB", 1.0, 0),
}  # fmt: skip
SIZE = ("rows", "labels", "features", "nonzeros", "threads")
QUIET = 3.0  # a load up to which two threads have two cores
CLOSE = 0.05  # exponents that are nearer than this to each other are the same


def exponent(sizes: list[float], costs: list[float]) -> float:
    """The b of cost = a · size^b that fits best: the slope of least squares between the logarithms."""
    if len(set(sizes)) < 2:
        return math.nan
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)


def middle(lines: list[Line]) -> Line:
    """The size that all sweeps share: of each number, what most lines have."""
    return {key: Counter(line[key] for line in lines).most_common(1)[0][0] for key in SIZE}


def curve(lines: list[Line], sweep: str, engine: str) -> list[Line]:
    """An engine's lines that differ from the middle size in one number alone, from small to large."""
    at = middle(lines)
    fits = [
        line
        for line in lines
        if line["engine"] == engine and "failed" not in line and all(line[k] == at[k] for k in SIZE if k != sweep)
    ]
    return sorted(fits, key=lambda line: line[sweep])


def slopes(lines: list[Line], sweep: str) -> dict[str, dict[str, float]]:
    """engine -> field -> exponent."""
    size = SWEEPS[sweep][1]
    found: dict[str, dict[str, float]] = {}
    for engine in ENGINES:
        if len(points := curve(lines, sweep, engine)) > 1:
            sizes = [size(line) for line in points]
            found[engine] = {field: exponent(sizes, [max(p[field], 1e-9) for p in points]) for field in MEASURES}
    return found


def growth_section(found: list[Line], to: Path, table: Table) -> Iterator[str]:
    if not found:
        return
    newest = max(line["run"] for line in found)
    lines = [line for line in found if line["run"] == newest]
    at, busy = middle(lines), [line["busy"] for line in lines if "busy" in line]
    commits = ", ".join(dict.fromkeys(line["commit"] for line in lines))
    draw(lines, to / "img")
    yield "## How cost grows"
    yield ""
    yield "![time and memory against rows, labels, features and non-zeros a row, four engines](img/growth.svg)"
    yield ""
    yield (
        f"Synthetic data; in each column one number changes, the others are those of the middle: {at['rows']:,} rows, "
        f"{at['labels']:,} labels, {at['features']:,} features, {at['nonzeros']} draws of features a row. Seconds and "
        f"microseconds of the processor, one thread, single queries by the clock (the least of each row); memory is "
        f"what training added to the process (of omikuji, with its data). All engines in one run, taking turns; the "
        f"load of the machine was {min(busy):.0f} to {max(busy):.0f}. Commits {commits}, "
        f"{newest[:10]}; {lines[0]['machine']}."
    )
    yield ""
    yield (
        "Exponents b of cost = a · size^b: 1 is growth in proportion, 0 none. From the smallest to the largest size "
        "in brackets. Fixed costs make exponents of small things small. ✗: ours grows faster than the peer's by more "
        f"than {CLOSE}."
    )
    yield ""
    rows, worse = [], list[float]()  # how many times ours the peer's cost still is at the largest size
    for sweep, (title, size) in SWEEPS.items():
        found_slopes = slopes(lines, sweep)
        for engine, exponents in found_slopes.items():
            points = curve(lines, sweep, engine)
            cells = []
            for field, (_, factor, digits) in MEASURES.items():
                peer = found_slopes.get(PAIRS.get(engine, ""), {})
                bad = field in peer and exponents[field] > peer[field] + CLOSE
                if bad:
                    worse.append(curve(lines, sweep, PAIRS[engine])[-1][field] / points[-1][field])
                ends = f"{factor * points[0][field]:,.{digits}f} → {factor * points[-1][field]:,.{digits}f}"
                cells.append(f"{exponents[field]:.2f} ({ends}){' ✗' if bad else ''}")
            span = f"{title}, {size(points[0]):,.0f} to {size(points[-1]):,.0f}"
            rows.append([span, engine, *cells])
    yield from table(["what grows", "engine", *(title for title, _, _ in MEASURES.values())], rows)
    told = (
        f"Ours grows faster than the peer in {len(worse)} of the {len(MEASURES) * len(PAIRS) * len(SWEEPS)} comparisons"
    )
    still = f", from less: at the largest size the peer's cost is {min(worse):.1f} to {max(worse):.1f} times ours"
    yield f"{told}{still if worse else ''}."
    yield ""
    yield from _by_labels(lines)
    yield from _by_threads(lines, table)
    yield "    make bench-growth"
    yield ""


def _by_labels(lines: list[Line]) -> Iterator[str]:
    """Logarithmic growth: what ten times as many labels add."""
    told = []
    for engine in ENGINES:
        points = curve(lines, "labels", engine)
        if len(points) > 1:
            decades = math.log10(points[-1]["labels_with_rows"] / points[0]["labels_with_rows"])
            batch = 1e3 * (points[-1]["batch_cpu_ms"] - points[0]["batch_cpu_ms"]) / decades
            single = (points[-1]["p50_us"] - points[0]["p50_us"]) / decades
            told.append(f"{engine} {batch:.1f} and {single:.0f}")
    if told:
        yield (
            "Prediction keeps ten nodes a level, so time should grow with the depth of the tree, a logarithm of the "
            f"labels. Ten times as many labels add, µs a row in a batch and to a single query: {'; '.join(told)}."
        )
        yield ""


def _by_threads(lines: list[Line], table: Table) -> Iterator[str]:
    """The clock of two threads is told of a quiet run alone: otherwise it says who else was running."""
    fields = {"train_cpu_seconds": "training, s", "batch_cpu_ms": "batch, ms a row", "added_mb": "memory, MB"}
    points = {engine: curve(lines, "threads", engine) for engine in ENGINES}
    both = {engine: (found[0], found[-1]) for engine, found in points.items() if len(found) > 1}
    if not both:
        return
    quiet = max(line["busy"] for pair in both.values() for line in pair) <= QUIET
    clocks = ", then by the clock" if quiet else "; the machine was too busy for the clock"
    yield f"From one thread to two, of the processor over all threads (1× is no extra work), and memory{clocks}:"
    yield ""
    clock = {"train_seconds": "training by the clock, s", "batch_ms": "batch by the clock, ms a row"}
    shown = {**fields, **(clock if quiet else {})}
    rows = [
        [engine, *(f"{one[field]:.3g} → {two[field]:.3g} ({two[field] / one[field]:.2f}×)" for field in shown)]
        for engine, (one, two) in both.items()
    ]
    yield from table(["engine", *shown.values()], rows)


def draw(lines: list[Line], folder: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("the plot needs matplotlib: pip install 'xtrellis[bench]'") from None
    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "xtrellis"  # the same numbers give the same file
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(MEASURES), len(SWEEPS), figsize=(12, 11), layout="constrained", sharey="row")
    for column, (sweep, (title, size)) in enumerate(SWEEPS.items()):
        for row, (field, (measure, factor, _)) in enumerate(MEASURES.items()):
            axis = axes[row, column]
            for engine, color in ENGINES.items():
                points = curve(lines, sweep, engine)
                ours = engine.startswith("xtrellis")
                axis.plot(
                    [size(p) for p in points], [factor * p[field] for p in points], "o-" if ours else "s--",
                    color=color, label=engine, markersize=4,
                )  # fmt: skip
            axis.set(xscale="log", yscale="log")
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
            if row == len(MEASURES) - 1:
                axis.set_xlabel(title)
            if column == 0:
                axis.set_ylabel(measure)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(ENGINES), frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "growth.svg", metadata={"Date": None})
    figure.savefig(folder / "growth.png", dpi=110, metadata={"Software": None})
    plt.close(figure)
