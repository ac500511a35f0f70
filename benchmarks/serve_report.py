"""The section of docs/performance.md on serving, from results/serve.jsonl: of each measurement the newest line, of the
long runs the longest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from common import RESULTS

Line = dict[str, Any]


def newest() -> dict[tuple[Any, ...], Line]:
    path = RESULTS / "serve.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    lines.sort(key=lambda line: line.get("minutes", 0))  # in their order where there are none
    return {(line["what"], line.get("peer"), line.get("connections"), line.get("aim")): line for line in lines}


def serving_section() -> Iterator[str]:
    found = newest()
    ours = {n: found[("wrk", None, n, None)] for n in (1, 32, 64) if ("wrk", None, n, None) in found}
    if not ours:
        return
    line = next(iter(ours.values()))
    yield "## Serving"
    yield ""
    yield (
        f"`xtrellis serve` with one worker, a label tree of {line['labels']:,} labels (the demo's texts) and 5 answers "
        "with probabilities; wrk asks for one short text a request. Client and server share the 2 cores, and all "
        "servers were measured in one run. The peers were trained on the same texts; Annif tokenizes with NLTK, the "
        "FastAPI is the plain one that people write (one `def`, pydantic, scikit-learn's vectoriser)."
    )
    loads = [told["load"] for key, told in found.items() if key[0] in ("wrk", "peer")]
    if max(loads) > 3:
        yield ""
        yield (
            f"**The machine was not quiet**: other work kept its load between {min(loads):.0f} and {max(loads):.0f} "
            "on 2 cores, so rates and waiting times say what is possible beside it. Processor time says what to expect "
            "alone."
        )
    yield ""
    yield "| server | connections | requests a second | p99 ms | µs of processor time a request: server | client |"
    yield "|---|---:|---:|---:|---:|---:|"
    peers = sorted({key[1] for key in found if key[0] == "peer"})
    for n in ours:
        for name, key in (("xtrellis serve", ("wrk", None, n, None)), *((p, ("peer", p, n, None)) for p in peers)):
            told = found.get(key)
            if told is not None:
                yield (
                    f"| {name} | {n} | {told['requests_per_second']:,.0f} | {told['p99_ms']:.1f} | "
                    f"{told['server_cpu_us']:.0f} | {told['client_cpu_us']:.0f} |"
                )
    yield ""
    for aim, words in (("half", "half of its highest rate"), ("1500", "1,500 requests a second")):
        told = found.get(("paced", None, None, aim))
        if told is not None:
            yield (
                f"At {words} ({told['rate']:,.0f} a second, waiting counted from when a request was due): half are "
                f"answered within {told['p50_ms']:.1f} ms, 99% within {told['p99_ms']:.1f} ms."
            )
    batches = found.get(("batches", None, None, None))
    if batches is not None:
        yield (
            f"Lines of texts: {batches['texts_per_second']:,.0f} a second where `predict` in a program does "
            f"{batches['predict_texts_per_second']:,.0f}, {100 * batches['share']:.0f}%; in processor time "
            f"{batches['cpu_us']:.0f} µs a text against {batches['predict_cpu_us']:.0f}."
        )
    long = found.get(("long", None, None, None))
    if long is not None:
        yield (
            f"{long['minutes']:g} minutes on 64 connections: {long['requests']:,} requests, {long['wrong']} wrong "
            f"answers, {long.get('lost', 0)} lost, the model replaced {long['reloads']:.0f} times; the server's own "
            f"memory went from {long['memory_first_mb']:.1f} to {long['memory_last_mb']:.1f} MB (at most "
            f"{long['memory_most_mb']:.1f})" + ("; others used the machine meanwhile." if long.get("shared") else ".")
        )
    yield ""
