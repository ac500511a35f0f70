"""The part of the performance page on texts.py: from strings to names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Line = dict[str, Any]
Table = Callable[[list[str], list[list[str]]], Iterator[str]]

PEER = "omikuji"


def texts_section(found: list[Line], table: Table) -> Iterator[str]:
    newest: dict[str, dict[str, Line]] = {}
    for line in found:
        newest.setdefault(line["data"], {})[line["engine"]] = line
    if not newest:
        return
    yield "## From strings to names"
    yield ""
    yield (
        "A whole `Tagger` beside scikit-learn's `TfidfVectorizer` and omikuji (Bonsai, three trees), called as Annif "
        "calls them but without its tokenizer and checks: single words and pairs that two texts have, ten names, two "
        "threads. Its tree is asked row by row in a batch, too: it has no other call. `bonsai*3` are our three trees "
        "of that kind, and the ones to compare at like precision. The least of all turns; `busy` is the load of the "
        "machine before."
    )
    yield ""
    rows = []
    for data, engines in newest.items():
        peer = engines.get(PEER)
        for name, line in engines.items():
            ratios = [f" ({peer[field] / line[field]:.1f}×)" if peer and name != PEER else "" for field in _TIMES]
            times = [f"{line[field]:,.0f}{ratio}" for field, ratio in zip(_TIMES, ratios, strict=True)]
            precise = f"{line['P@1']:.2f} / {line['P@5']:.2f}"
            batch = f"{line['batch']:,}" if "batch" in line else "–"
            rows.append(
                [
                    data,
                    name,
                    batch,
                    *times,
                    f"{line['p99_us']:,.0f}",
                    precise,
                    f"{line['turns']}",
                    f"{line['busy']:.0f}",
                ]
            )
    head = [
        "data",
        "engine",
        "texts in the batch",
        "µs each",
        "one text, p50 µs",
        "p99 µs",
        "P@1 / P@5",
        "turns",
        "busy",
    ]
    yield from table(head, rows)
    yield "    python benchmarks/texts.py"
    yield ""


_TIMES = ("batch_us", "p50_us")
