"""The part of docs/performance.md that tells of the kernels: how far from their bounds, and what was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Line = dict[str, Any]
Table = Callable[[list[str], list[list[str]]], Iterator[str]]


def kernels_section(roofline: list[Line], tried: list[Line], table: Table) -> Iterator[str]:
    """Both, as far as there are lines of them."""
    if roofline:
        yield "## How far from the bound"
        yield ""
        yield (
            "Seconds of the processor in the training kernel, one thread. A feature visit is one feature of one row in "
            "one epoch of one group of up to 32 classifiers, all lanes; its weights are read twice and written once "
            "(rows that rest are counted as if they were visited, so the rate is an upper bound). NumPy: what adding "
            "to an array of 512 KiB in place reaches. A look-up is one feature of a query in one node that it expands."
        )
        yield ""
        newest = {(line["data"], line["preset"]): line for line in roofline}
        rows = [
            [
                f"{data} {preset}", f"{line['solve_seconds']:.2f}", f"{line['feature_visits'] / 1e6:,.0f}",
                f"{line['ns_a_visit']:.1f}", f"{line['gb_a_second']:.0f}", f"{line['numpy_gb_a_second']:.0f}",
                f"{line['nodes_a_query']:.1f}", f"{line['ns_a_look_up']:.0f}",
            ]
            for (data, preset), line in newest.items()
        ]  # fmt: skip
        head = ["data, preset", "kernel s", "feature visits, millions", "ns a visit", "GB/s", "NumPy GB/s"]
        yield from table([*head, "nodes a query", "ns a look-up"], rows)
        yield "    python benchmarks/roofline.py"
        yield ""
    if tried:
        yield "## What was tried"
        yield ""
        yield (
            "On debian-depends, before and after in one run: seconds are those of the processor for a quarter of the "
            "blocks, one thread, the least of three turns (~: while others used the machine); counts are of all "
            "blocks. What did not pay is not in the code."
        )
        yield ""
        rows = [
            [
                line["kernel"],
                line["idea"],
                f"{_number(line, 'before')} → {_number(line, 'after')} {line['unit']}",
                "yes" if line["kept"] else "no",
            ]
            for line in tried
        ]
        yield from table(["kernel", "idea", "what came out", "kept"], rows)


def _number(line: Line, side: str) -> str:
    return f"{'~' if line['busy'] else ''}{line[side]:g}"
