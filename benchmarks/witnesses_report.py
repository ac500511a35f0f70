"""The section of docs/performance.md on `best`, from results/witnesses.jsonl: of each data set the newest run."""

from __future__ import annotations

import json
from collections.abc import Iterator

from common import RESULTS

BATCH, SINGLE = 200, 1000  # µs of the processor, and of the clock, that were aimed for


def witnesses_section() -> Iterator[str]:
    path = RESULTS / "witnesses.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    newest = {line["data"]: line["run"] for line in sorted(lines, key=lambda line: line["run"])}
    found = [line for line in lines if line["run"] == newest[line["data"]]]
    if not found:
        return
    yield "## Three witnesses"
    yield ""
    yield (
        "What it takes to ask `best` for 10 labels, each of its members for 100, as it does itself, and `xr-linear` "
        "for 10, in the same turns: microseconds a row of a batch, by the clock with two threads and by the processor "
        "over both, and of single queries."
    )
    yield ""
    for line in found:
        if line["model"] == "best":
            asked = (line["batch_processor_us"], BATCH), (line["p50_us"], SINGLE)
            batch, single = (f"{value:.0f} µs, {'met' if value <= aim else 'missed'}" for value, aim in asked)
            yield (
                f"Aimed for on {line['data']}: a row of a batch in 100 µs on two threads, which are 200 µs of the "
                f"processor ({batch}), a single query in 1,000 µs ({single})."
            )
            yield ""
    yield "| data | rows | model | batch µs/row | of the processor | single p50 µs | p99 µs |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for line in found:
        times = [f"{line[name]:.0f}" for name in ("batch_clock_us", "batch_processor_us", "p50_us", "p99_us")]
        yield f"| {line['data']} | {line['rows']:,} | {line['model']} | {' | '.join(times)} |"
    yield ""
    for command in dict.fromkeys(line["command"] for line in found):
        yield f"    {command}"
    yield ""
