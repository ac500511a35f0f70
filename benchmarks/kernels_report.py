"""The part of docs/performance.md that tells of the kernels: how far from their bounds, and what was tried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Line = dict[str, Any]
Table = Callable[[list[str], list[list[str]]], Iterator[str]]
LINE = 64  # bytes that a cache fetches at once

# How the lines of a commit came about, where they do not say so themselves (`how`).
HOW = {
    "13cf0db": "a quarter of the blocks of debian-depends, one thread, least of three turns; counts are of all blocks",
    "8ec9ff8": "whole runs on the data that is named, one thread, others using the machine",
}


class Idea(NamedTuple):
    """One of those that were listed before the work began, and how to know its lines."""

    what: str
    pattern: str  # of "kernel idea" in tried.jsonl
    in_code: str = ""  # where it is in the code though no line compares before and after


IDEAS = [
    Idea("in batches, a query's best leaf first, then what can still reach the k-th best", r"best leaf|leaves? first",
         "`search/beam.cpp`: a level's two best nodes, then three, then the rest"),
    Idea("float16 or bfloat16 weights in the inner loops", r"b?float16",
         "`search/unpack.hpp`: float16 and int8 are widened as they are used"),
    Idea("bucket look-ups for two queries at once", r"two queries"),
    Idea("huge pages for the weight arrays", r"huge page"),
    Idea("a bitmap of query features a block that says \"nothing here\"", r"bitmap"),
    Idea("queries of a batch ordered by cluster", r"ordered by|order of queries"),
    Idea("bucket scans by instruction set", r"bucket scan|scan.*instruction"),
    Idea("a path without intermediate objects for one row and one text", r"one row|one text|intermediate",
         "one native call for a row through several trees (`search/together.cpp`)"),
    Idea("sibling blocks solved together where they share rows", r"sibling"),
    Idea("warm starts from the parent's dual variables", r"warm start"),
    Idea("better balance of the root and of the last blocks between threads", r"balance"),
    Idea("PIFA and clustering of the top levels overlapped with training", r"PIFA|clustering.*overlap"),
    Idea("8-bit differences of feature ids on disk", r"8-bit|one byte|uint8"),
]  # fmt: skip


def kernels_section(roofline: list[Line], counts: list[Line], tried: list[Line], table: Table) -> Iterator[str]:
    """All three, as far as there are lines of them."""
    if roofline or counts:
        yield "## How far from the bound"
        yield ""
    if counts:
        yield from _counts(counts, table)
    if roofline:
        yield from _roofline(roofline, table)
    if tried:
        yield from _tried(tried, table)
        yield from _ideas(tried, table)


def _counts(counts: list[Line], table: Table) -> Iterator[str]:
    newest = {(line["data"], line["kernel"]): line for line in counts}
    some = next(iter(newest.values()))
    trained = max(line["rows"] for (_, kernel), line in newest.items() if kernel == "solver")
    asked = max(line["rows"] for (_, kernel), line in newest.items() if kernel == "batch search")
    yield (
        "What a row costs in each kernel of xr-linear, one thread: microseconds of the processor, and counts of "
        "callgrind, which models a first-level and a last-level cache and knows no AVX-512: the counted kernels are "
        "the AVX2 ones. Training kernels (label vectors, clustering, solver, packing) are counted on the first "
        f"{trained:,} training rows, the vectoriser on their texts, batch search on {asked:,} test rows at once. kB: "
        f"{LINE} bytes for each line that the first level lacked. The bound: lines that the last level lacked at the "
        f"rate at which NumPy reads and writes an array of 256 MiB ({some['far_gb']:.1f} GB/s), the others at that of "
        f"one of 512 KiB ({some['near_gb']:.0f} GB/s). Of the time: how much of what was measured this bound is; the "
        "rest are instructions, wrong guesses, and waiting for lines one after another."
    )
    yield ""
    rows = []
    for (data, kernel), line in newest.items():
        near, far = LINE * (line["l1_misses"] - line["last_misses"]), LINE * line["last_misses"]
        bound = (near / line["near_gb"] + far / line["far_gb"]) / 1e3
        rows.append([
            f"{data} {kernel}", f"{line['us_a_row']:,.1f}", f"{line['instructions']:,.0f}",
            f"{line['instructions'] / line['us_a_row'] / 1e3:.1f}", f"{line['l1_misses']:,.0f}",
            f"{line['last_misses']:,.1f}", f"{line['branch_misses']:,.0f}", f"{(near + far) / 1e3:,.1f}",
            f"{bound:,.2f}", f"{100 * bound / line['us_a_row']:.0f}%",
        ])  # fmt: skip
    head = ["data, kernel", "µs", "instructions", "a ns", "misses, first level", "last level", "wrong guesses"]
    yield from table([*head, "kB moved", "bound µs", "of the time"], rows)
    told = sorted({f"{line['machine']}, commit {line['commit']}" for line in newest.values()})
    caches = "; ".join(cache.removeprefix("desc: ") for cache in some["caches"])
    yield f"{'; '.join(told)}; caches as modelled: {caches}."
    yield ""
    yield "    python benchmarks/counts.py"
    yield ""


def _roofline(roofline: list[Line], table: Table) -> Iterator[str]:
    yield (
        "Seconds of the processor in the training kernel, all rows, one thread. A feature visit is one feature of one "
        "row in one epoch of one group of up to 32 classifiers, all lanes; its weights are read twice and written once "
        "(rows that rest are counted as if they were visited, so visits and rate are upper bounds). NumPy: what adding "
        "to an array of 512 KiB in place reaches. A look-up is one feature of a query in one node that it expands."
    )
    yield ""
    newest = {(line["data"], line["preset"]): line for line in roofline}
    rows = [
        [
            f"{data} {preset}", f"{line['solve_seconds']:.2f}", f"{line['feature_visits'] / 1e6:,.0f}",
            f"{line['ns_a_visit']:.1f}", f"{line['gb_a_second']:.0f}", f"{line['numpy_gb_a_second']:.0f}",
            f"{line['nodes_a_query']:.1f}", f"{line['ns_a_look_up']:.0f}", line["commit"],
        ]
        for (data, preset), line in newest.items()
    ]  # fmt: skip
    head = ["data, preset", "kernel s", "feature visits, millions", "ns a visit", "GB/s", "NumPy GB/s"]
    yield from table([*head, "nodes a query", "ns a look-up", "commit"], rows)
    yield "    python benchmarks/roofline.py"
    yield ""


def _tried(tried: list[Line], table: Table) -> Iterator[str]:
    yield "## What was tried"
    yield ""
    yield (
        "Before and after in one run, each on its commit (~: while others used the machine); seconds are those of the "
        "processor. What did not pay is not in the code. Feature visits in this table are of their commit and compare "
        "within a row only: the table above has another commit, machine and way of counting. How:"
    )
    yield ""
    for commit, how in _how(tried):
        yield f"- {commit}: {how}."
    yield ""
    rows = [
        [
            line["kernel"],
            line["idea"],
            f"{_number(line, 'before')} → {_number(line, 'after')} {line['unit']}",
            "yes" if line["kept"] else "no",
            line["data"],
            line["commit"],
        ]
        for line in tried
    ]
    yield from table(["kernel", "idea", "what came out", "kept", "data", "commit"], rows)


def _how(tried: list[Line]) -> list[tuple[str, str]]:
    found = {(line["commit"], line.get("how") or HOW.get(line["commit"], "")) for line in tried}
    order = [line["commit"] for line in tried]
    return sorted(((c, how) for c, how in found if how), key=lambda pair: (order.index(pair[0]), pair[1]))


def _ideas(tried: list[Line], table: Table) -> Iterator[str]:
    yield "Of the ideas that were listed before this round of work:"
    yield ""
    rows = []
    for idea in IDEAS:
        found = [line for line in tried if re.search(idea.pattern, f"{line['kernel']} {line['idea']}", re.IGNORECASE)]
        outcomes = [
            f"{line['kernel']}: {_number(line, 'before')} → {_number(line, 'after')} {line['unit']}, "
            f"{'kept' if line['kept'] else 'not kept'}"
            for line in found
        ]
        told = "; ".join(outcomes) or (
            f"in the code, not compared alone: {idea.in_code}" if idea.in_code else "not tried"
        )
        rows.append([idea.what, told])
    yield from table(["idea", "what came of it"], rows)


def _number(line: Line, side: str) -> str:
    return f"{'~' if line['busy'] else ''}{line[side]:g}"
