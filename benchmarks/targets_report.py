"""The part of docs/performance.md that holds results against what was aimed for: beside the peers, and alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Line = dict[str, Any]
Best = dict[str, dict[str, Line]]
Table = Callable[[list[str], list[list[str]]], Iterator[str]]
Lines = Callable[[str], list[Line]]

PRECISION_SLACK, TAIL = 0.1, 2.5
PRECISION, TIMES = ("P@1", "P@3", "P@5"), ("train_seconds", "load_ms", "batch_ms", "p50_us", "p99_us")
MIN_TURNS, MAX_BUSY = 3, 3.0
TRAIN_SECONDS, TRAIN_GB, COMPOSITE, VECTORISER = 45, 2.1, 4, 45


class Target(NamedTuple):
    """`field` of `peer` must be at least `factor` times ours."""

    what: str
    ours: str
    peer: str
    field: str
    factor: float


XR, PARABEL = "xtrellis xr-linear", "xtrellis parabel"
TARGETS = [
    Target("training ≥ 10× as fast as PECOS", XR, "pecos", "train_seconds", 10),
    Target("training ≥ 5× as fast as omikuji", PARABEL, "omikuji", "train_seconds", 5),
    Target("batch prediction ≥ 8× as fast as PECOS", XR, "pecos", "batch_ms", 8),
    Target("single query ≥ 15× as fast as PECOS (p50)", XR, "pecos", "p50_us", 15),
    Target("single query ≥ 8× as fast as omikuji (p50)", PARABEL, "omikuji", "p50_us", 8),
    Target("loading ≥ 20× as fast as PECOS", XR, "pecos", "load_ms", 20),
    Target("peak training memory ≤ PECOS's", XR, "pecos", "peak_mb", 1),
]
SIZES = {"float16": 0.45, "int8": 0.30}  # on disk, of PECOS's


def rough(engines: dict[str, Line]) -> str | None:
    """Why the times of a run prove nothing, if so: a busy machine slows one engine's turn and not the next one's."""
    newest = max(line["run"] for line in engines.values())
    measured = [line for line in engines.values() if "failed" not in line and line["run"] == newest]
    if any("busy" not in line for line in measured):
        return "how busy the machine was has not been recorded"
    busy = max((line["busy"] for line in measured), default=0)
    if busy > max(line["threads"] for line in engines.values()) + 1:
        return f"other programs were running (load average {busy:.1f})"
    turns = min((line["repeats"] for line in measured), default=0)
    return f"fewer than {MIN_TURNS} turns" if turns < MIN_TURNS else None


def comparable(engines: dict[str, Line], ours: str, peer: str) -> bool:
    """Both measured, and in one run: a ratio of two runs says nothing."""
    pair = [engines.get(name) for name in (ours, peer)]
    return all(line and "failed" not in line for line in pair) and len({line["run"] for line in pair if line}) == 1


def targets_section(best: Best, pairs: list[tuple[str, str]], lines: Lines, table: Table) -> Iterator[str]:
    yield from _beside_the_peers(best, pairs, lines, table)
    yield from _by_themselves(lines, table)
    yield "✓ met, ✗ missed, ? measured under conditions that decide nothing (few turns, or other programs running)."
    yield ""


def _beside_the_peers(best: Best, pairs: list[tuple[str, str]], lines: Lines, table: Table) -> Iterator[str]:
    names, rows = list(best), []

    def cell(data: str, field: str, text: str, met: bool) -> str:
        turns = min(line.get("repeats", MIN_TURNS) for line in best[data].values())
        # Sizes and memory hardly change; times need a quiet machine, precision needs several seeds.
        unsure = rough(best[data]) if field in TIMES else field in PRECISION and turns < MIN_TURNS
        return f"{text} ?" if unsure else f"{text} {'✓' if met else '✗'}"

    def row(what: str, ours: str, peer: str, told: Callable[[str, Line, Line], str]) -> None:
        both = [(data, comparable(best[data], ours, peer)) for data in names]
        rows.append([what, *(told(d, best[d][ours], best[d][peer]) if known else "–" for d, known in both)])

    for target in TARGETS:

        def times(data: str, ours: Line, peer: Line, target: Target = target) -> str:
            ratio = peer[target.field] / ours[target.field]
            return cell(data, target.field, f"{ratio:.1f}×", ratio >= target.factor)

        row(target.what, target.ours, target.peer, times)

    def tail(data: str, ours: Line, peer: Line) -> str:
        ratio = ours["p99_us"] / ours["p50_us"]
        return cell(data, "p99_us", f"{ratio:.1f}×", ratio <= TAIL)

    row(f"single query p99 ≤ {TAIL}× p50 (xr-linear)", XR, "pecos", tail)
    stored = {(line["data"], line["storage"]): line for line in lines("storage") if "pecos_bytes" in line}
    for storage, limit in SIZES.items():
        cells = []
        for data in names:
            line = stored.get((data, storage))
            share = line["model_bytes"] / line["pecos_bytes"] if line else 0
            cells.append(cell(data, "model_bytes", f"{share:.2f}", share <= limit) if line else "–")
        rows.append([f"on disk, {storage}, ≤ {limit:.2f} of PECOS's", *cells])
    for mine, peer in pairs[:3]:
        for metric in PRECISION:

            def gap(data: str, ours: Line, theirs: Line, metric: str = metric) -> str:
                points = ours[metric] - theirs[metric]
                return cell(data, metric, f"{points:+.2f}", points >= -PRECISION_SLACK)

            row(f"{metric} of {mine.split()[1]} against {peer} ≥ −{PRECISION_SLACK}", mine, peer, gap)
    yield from table(["target", *names], rows)


def _by_themselves(lines: Lines, table: Table) -> Iterator[str]:
    """What has no place beside the peers' trees: texts, composites, the vectoriser, a million labels."""
    rows = [*_texts(lines), *_composites(lines), *_vectoriser(lines), *_million(lines)]
    if rows:
        yield from table(["target", "measured"], rows)


def _verdict(met: bool, sure: bool) -> str:
    return ("✓" if met else "✗") if sure else "?"


def _texts(lines: Lines) -> Iterator[list[str]]:
    newest = {(line["data"], line["engine"]): line for line in lines("texts")}
    for field, what, factor in (
        ("p50_us", "one short text to names", 20),
        ("batch_us", "texts to names, in a batch", 10),
    ):
        told = []
        for (data, engine), ours in newest.items():
            peer = newest.get((data, "omikuji"))
            if engine != "omikuji" and peer:
                ratio, sure = peer[field] / ours[field], ours["busy"] <= MAX_BUSY and ours["turns"] > 1
                told.append(f"{data} {engine} {ratio:.1f}× {_verdict(ratio >= factor, sure)}")
        if told:
            yield [f"{what}, ≥ {factor}× as fast as tf-idf of scikit-learn with omikuji", "; ".join(told)]


def _composites(lines: Lines) -> Iterator[list[str]]:
    newest = {line["data"]: line for line in lines("composites")}
    titles = {
        "three trees": f"a batch by three trees ≤ {COMPOSITE}× one tree",
        "xr-linear++": f"training xr-linear++ ≤ {COMPOSITE}× xr-linear",
    }
    for key, what in titles.items():
        told = []
        for data, line in newest.items():
            clock, processor = line["ratios"][key], line["processor_ratios"][key]
            sure = line["turns"] >= MIN_TURNS and line["busy"] <= MAX_BUSY + 0.2
            told.append(f"{data} {clock:.1f}× ({processor:.1f}× of the processor) {_verdict(clock <= COMPOSITE, sure)}")
        if told:
            yield [what, "; ".join(told)]


def _vectoriser(lines: Lines) -> Iterator[list[str]]:
    """Very short texts are those of yso-100k."""
    found = [
        line
        for line in lines("vectorize")
        if (line["data"], line["engine"], line["threads"], line["work"]) == ("yso-100k", "xtrellis", 1, "fit_transform")
    ]
    if found:
        rate = found[-1]["megabytes"] / found[-1]["cpu_seconds_best"]
        told = f"{rate:.1f} MB/s (commit {found[-1]['commit']}) {_verdict(rate >= VECTORISER, True)}"
        yield [f"vectoriser, fitting very short texts (yso-100k), ≥ {VECTORISER} MB/s a core", told]


def _million(lines: Lines) -> Iterator[list[str]]:
    found = [line for line in lines("million") if line["labels"] == line["rows"] == 1_000_000]
    if found:
        line = max(found, key=lambda m: m["date"])
        met = line["train_seconds"] <= TRAIN_SECONDS and round(line["peak_gb"], 1) <= TRAIN_GB
        told = f"{line['train_seconds']:.1f} s, {line['peak_gb']:.2f} GB {_verdict(met, True)}"
        yield [f"1M labels × 1M rows, training ≤ {TRAIN_SECONDS} s and ≤ {TRAIN_GB} GB", told]
