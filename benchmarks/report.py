"""docs/performance.md and its plot, made from results/*.jsonl; nothing on that page is written by hand.

    python benchmarks/report.py [--to docs]

Of each data set and of the growth curves the newest run counts: what stands in one table was measured in one run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from growth_report import growth_section
from kernels_report import kernels_section
from peers_quality_report import peers_quality_section
from serve_report import serving_section
from targets_report import PRECISION, comparable, rough, targets_section
from texts_report import texts_section
from witnesses_report import witnesses_section

HERE = Path(__file__).parent
Line = dict[str, Any]

COLUMNS = {  # field: (title, unit divisor, digits)
    "train_seconds": ("train s", 1, 2), "peak_mb": ("peak memory MB", 1, 0), "model_bytes": ("on disk MB", 1e6, 1),
    "load_ms": ("load ms", 1, 2), "batch_ms": ("batch ms/row", 1, 4), "p50_us": ("single p50 µs", 1, 1),
    "p99_us": ("p99 µs", 1, 1), "P@1": ("P@1", 1, 2), "P@3": ("P@3", 1, 2), "P@5": ("P@5", 1, 2),
}  # fmt: skip
RATIOS = {
    "train_seconds": "training", "peak_mb": "peak memory", "model_bytes": "size on disk", "load_ms": "loading",
    "batch_ms": "batch prediction", "p50_us": "single query",
}  # fmt: skip
PAIRS = [  # ours and the peer with the same kind of tree
    ("xtrellis xr-linear", "pecos"), ("xtrellis parabel", "omikuji"), ("xtrellis bonsai", "omikuji bonsai"),
    ("xtrellis parabel", "napkinxc"),
]  # fmt: skip


def lines(name: str) -> list[Line]:
    path = HERE / "results" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def newest_runs(found: list[Line]) -> dict[str, dict[str, Line]]:
    """data set -> engine -> its newest line among runs that compared anybody; the newest run's engines first."""
    engines: dict[tuple[str, str], set[str]] = {}
    for line in found:
        engines.setdefault((line["data"], line["run"]), set()).add(line["engine"])
    best: dict[str, dict[str, Line]] = {}
    for line in sorted(found, key=lambda line: line["run"], reverse=True):
        if len(engines[line["data"], line["run"]]) > 1:
            best.setdefault(line["data"], {}).setdefault(line["engine"], line)
    return dict(
        sorted(best.items(), key=lambda item: min(line["labels_a_row"] for line in item[1].values()), reverse=True)
    )


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def data_section(data: str, engines: dict[str, Line]) -> Iterator[str]:
    line = next(iter(engines.values()))
    yield f"### {data}"
    yield ""
    yield (
        f"{line['train_rows']:,} training rows, {line['test_rows']:,} test rows, {line['labels']:,} labels "
        f"({line['labels_a_row']:.1f} a row), {line['features']:,} features ({line['features_a_row']:.1f} a row); "
        f"{line['threads']} threads, {line.get('repeats', 1)} turns; commit {line['commit']}, {line['run'][:10]}."
    )
    earlier = {f"{name} ({found['commit']})" for name, found in engines.items() if found["run"] != line["run"]}
    if earlier:
        yield f"From earlier runs: {', '.join(sorted(earlier))}."
    if reason := rough(engines):
        yield f"**Rough: {reason}.** No target counts as met or missed by its times."
    yield ""
    rows = []
    for name, found in engines.items():
        shown = f"{name} {found['engine_version']}" if "engine_version" in found and "xtrellis" not in name else name
        if "failed" in found:
            rows.append([shown, f"failed: {found['failed']}", *[""] * (len(COLUMNS) - 1)])
        else:
            rows.append([shown, *(f"{found[c] / unit:,.{digits}f}" for c, (_, unit, digits) in COLUMNS.items())])
    yield from table(["engine", *(title for title, _, _ in COLUMNS.values())], rows)
    refused = [f"{name} {found['rows_refused']}" for name, found in engines.items() if found.get("rows_refused")]
    if line["rows_without_features"] or refused:
        yield (
            f"Rows without features: {line['rows_without_features']} in training (omikuji refuses them; its file "
            f"lacks them). Test rows that an engine could not take: {', '.join(refused) or 'none'}."
        )
        yield ""
    pairs = [(o, p) for o, p in PAIRS if comparable(engines, o, p)]
    if pairs:
        yield "How many times the peer's number is ours (above 1: ours is faster or smaller):"
        yield ""
        rows = [[f"{o} : {p}", *(f"{engines[p][c] / engines[o][c]:.1f}×" for c in RATIOS)] for o, p in pairs]
        yield from table(["", *RATIOS.values()], rows)


def storage_section() -> Iterator[str]:
    newest = {(line["data"], line["storage"]): line for line in lines("storage") if "pecos_bytes" in line}
    if not newest:
        return
    yield "## Weights in fewer bits"
    yield ""
    yield (
        "One xr-linear model a data set, kept in three ways (`model.stored_as`); its size beside that of the model "
        "that PECOS trains on the same matrices in the same run."
    )
    yield ""
    rows = []
    for (data, storage), line in newest.items():
        exact = newest[data, "float32"]
        size = f"{line['model_bytes'] / line['pecos_bytes']:.3f}"
        change = " / ".join(f"{line[metric] - exact[metric]:+.2f}" for metric in PRECISION)
        scores = " / ".join(f"{line[metric]:.2f}" for metric in PRECISION)
        rows.append([data, storage, f"{line['model_bytes'] / 1e6:.1f}", size, scores, change, line["commit"]])
    yield from table(["data", "weights", "on disk MB", "of PECOS's", "P@1 / P@3 / P@5", "change", "commit"], rows)
    yield "    python benchmarks/storage.py"
    yield ""


def softmax_section() -> Iterator[str]:
    newest = {(line["data"], line["engine"]): line for line in lines("softmax")}
    if not newest:
        return
    yield "## SoftmaxTree beside fastText"
    yield ""
    yield (
        'fastText with `loss="hs"`: the same words, dimension, epochs, rate and threads, each engine in a process of '
        "its own, taking turns; training from words to a model in memory. `counts` adds words as fastText does."
    )
    yield ""
    rows = [
        [line["data"], line["engine"], f"{line['train_seconds']:.2f}", f"{line['predict_seconds']:.2f}",
         *(f"{line[metric]:.2f}" for metric in PRECISION)]
        for line in newest.values()
    ]  # fmt: skip
    yield from table(["data", "engine", "train s", "predict test s", "P@1", "P@3", "P@5"], rows)
    yield "    python benchmarks/softmax.py"
    yield ""


def neighbors_section() -> Iterator[str]:
    newest: dict[str, str] = {}
    for line in lines("neighbors"):
        newest[line["data"]] = max(newest.get(line["data"], ""), line["run"])
    found = [line for line in lines("neighbors") if line["run"] == newest[line["data"]]]
    if not found:
        return
    yield "## Neighbours"
    yield ""
    yield (
        "`Neighbors` with 50 neighbours: microseconds of the processor, over all threads (with two of them the clock "
        "shows half of it for a batch), on a machine that others used at the same time; `SciPy` is a product with all "
        "rows, measured in the same turns. Index: its bytes beside those of the rows as csr, 8 for each value. "
        "Postings and compared rows are the means of what a query looks at."
    )
    yield ""
    for line in found:
        if line["data"] == "npm-deps":
            single, batch = ("met" if line[f] <= aim else "missed" for f, aim in (("p50_us", 300), ("batch_us", 60)))
            yield (
                "Aimed for on npm-deps: a single query in 300 µs "
                f"({single}), a row of a batch in 30 µs on two threads, which are 60 µs of the processor ({batch})."
            )
            yield ""
    rows = [
        [s["data"], f"{s['rows']:,}", f"{s['fit_seconds']:.1f}", f"{s['index_ratio']:.2f}", f"{s['batch_us']:.0f}",
         f"{s['p50_us']:.0f}", f"{s['p99_us']:.0f}", f"{s['scipy_us']:,.0f}", f"{s['postings']:,.0f}",
         f"{s['compared']:,.0f}", f"{s['add_ms']:.1f} / {s['remove_ms']:.1f}"]
        for s in found
    ]  # fmt: skip
    head = ["data", "rows", "fit s", "index", "batch µs/row", "single p50 µs", "p99 µs", "SciPy µs/row", "postings"]
    yield from table([*head, "compared", "add / remove a row ms"], rows)
    for command in dict.fromkeys(line["command"] for line in found):
        yield f"    {command}"
    yield ""


def composites_section() -> Iterator[str]:
    newest = {line["data"]: line for line in lines("composites")}
    if not newest:
        return
    yield "## Composites beside one tree"
    yield ""
    yield (
        "Seconds of the processor over two threads, and how many times `xr-linear` that is: training, and a batch of "
        "all test rows (milliseconds), ten labels each, by one tree and by the mean of three. In turns, the least "
        "of all turns; `busy` is the load of the machine before (2 is one thread a core): what others do makes memory "
        "slower, so ratios are rough where it is high. "
        "Aimed for: `best` in 5 times `xr-linear`, `xr-linear++` in 4 times, three trees in 4 times one."
    )
    yield ""
    rows = []
    for line in newest.values():
        took, ratio = line["processor"], line["processor_ratios"]
        trained = [f"{took[f'train {name}']:.1f} ({ratio[name]:.1f}×)" for name in ("best", "xr-linear++")]
        batch = f"{1e3 * took['batch three trees']:.0f} ({ratio['three trees']:.1f}×)"
        one = [f"{took['train xr-linear']:.2f}", *trained, f"{1e3 * took['batch one tree']:.0f}", batch]
        rows.append([line["data"], *one, str(line["turns"]), f"{line['busy']:.0f}"])
    yield from table(
        ["data", "`xr-linear` s", "`best` s", "`xr-linear++` s", "one tree ms", "three trees ms", "turns", "busy"], rows
    )
    yield "    python benchmarks/composites.py"
    yield ""


def quick_section() -> Iterator[str]:
    """The newest comparison of two commits: what `make bench-quick` prints."""
    found = {line["data"]: line for line in lines("quick") if "found" in line}
    if not found:
        return
    yield "## One commit against another"
    yield ""
    yield (
        "What `make bench-quick` prints: times after : before (below 1 is faster), the least of all turns by the clock "
        "and of the processor; then the least and the largest ratio, of the processor, of turns that belong together, "
        "and in how many of them the later one was faster."
    )
    yield ""
    for data, line in found.items():
        yield (
            f"{data}: {line['after_commit']} after {line['before_commit']}, {line['threads']} threads, load "
            f"{line['busy']:.0f}; {'the same' if line['same_answers'] else 'other'} answers."
        )
        yield ""
        rows = [
            [what, *(f"{told[key]:.2f}" for key in ("clock", "processor", "from", "to")),
             f"{told['faster']} of {told['turns']}"]
            for what, told in line["found"].items()
        ]  # fmt: skip
        yield from table(["", "clock", "processor", "from", "to", "faster"], rows)
    yield "    make bench-quick BEFORE=COMMIT"
    yield ""


def parity_section() -> Iterator[str]:
    newest = {line["model"]: line for line in lines("pecos_parity")}
    if not newest:
        return
    worst = max(line["max_difference"] for line in newest.values())
    rows = sum(line["rows"] for line in newest.values())
    same = sum(line["rows_with_the_same_labels"] for line in newest.values())
    yield "## PECOS models, imported"
    yield ""
    yield (
        f"{len(newest)} models that PECOS trained (deep, flat, wide clusters, labels in no cluster, without bias, "
        f"every post-processor) predict the same labels in {same:,} of {rows:,} rows; scores differ by at most "
        f"{worst:.1e}."
    )
    yield ""
    yield "    python benchmarks/pecos_parity.py"
    yield ""


def million_section() -> Iterator[str]:
    found = lines("million")
    if not found:
        return
    line = max(found, key=lambda m: (m["labels"], m["rows"], m["date"]))
    limits = line["limits"]
    yield f"## {line['labels']:,} labels"
    yield ""
    yield (
        f"{line['rows']:,} synthetic rows, {line['threads']} threads, weights below 0.1 dropped: trained in "
        f"{line['train_seconds']:.1f} s (limit {limits['minutes']:.0f} minutes) with at most "
        f"{line['peak_gb']:.2f} GB (limit {limits['gb']:.0f}; {line['data_gb']:.2f} GB of it before training). "
        f"{line['model_gb']:.2f} GB on disk, {line['batch_ms']:.3f} ms a row in a batch, "
        f"P@1/3/5 {line['P@1']:.1f}/{line['P@3']:.1f}/{line['P@5']:.1f}. {line['tree']}; commit {line['commit']}."
    )
    yield ""
    yield from table(["step", "s"], [[title, f"{seconds:,.1f}"] for title, seconds in line["steps"].items()])
    yield "    python benchmarks/million.py"
    yield ""


def page(to: Path) -> Iterator[str]:
    yield "<!-- Made by benchmarks/report.py from benchmarks/results/*.jsonl: change those, not this page. -->"
    yield "# Performance"
    yield ""
    best = newest_runs(lines("compare"))
    if best:
        line = next(iter(next(iter(best.values())).values()))
        yield (
            "Ours beside the peers: every engine in a process of its own, on the same matrix (tf-idf of words, made "
            "once), with the same number of threads, taking turns. Training is timed from matrices in memory to a "
            "model in memory (label features, clustering, weights). Prediction keeps 10 nodes per level and names 10 "
            "labels a row, through the engine's Python interface. PECOS is loaded predict-only with `HASH_CHUNKED` "
            "weights. omikuji has its weights densified; its Python interface takes one row at a time, as a list of "
            "pairs made beforehand, so that its batch is a call for every row: the better of a plain loop and of "
            "threads counts, and reading its text file is not counted "
            "as training. napkinXC searches exactly, as it does by default. Load times are from files already in the "
            "disk cache. Every turn has another seed; times and sizes are the least of all turns, precision is their "
            "median."
        )
        yield ""
        machines = sorted({found["machine"] for engines in best.values() for found in engines.values()})
        everywhere = "; ".join(machines)
        yield f"Newest run on: {line['machine']}; all runs on: {everywhere}. Only ratios of one run compare. To repeat:"
        yield ""
        yield "    make bench-peers"
        for command in sorted({found["command"] for engines in best.values() for found in engines.values()}):
            yield f"    {command}"
        yield "    python benchmarks/report.py"
        yield ""
        yield "## What was aimed for"
        yield ""
        yield from targets_section(best, PAIRS, lines, table)
        yield "## Side by side"
        yield ""
        for data, engines in best.items():
            yield from data_section(data, engines)
    yield from kernels_section(lines("roofline"), lines("counts"), lines("tried"), table)
    yield from storage_section()
    yield from softmax_section()
    yield from neighbors_section()
    yield from witnesses_section()
    yield from peers_quality_section()
    yield from texts_section(lines("texts"), table)
    yield from serving_section()
    yield from composites_section()
    yield from growth_section(lines("growth"), to, table)
    yield from million_section()
    yield from quick_section()
    yield from parity_section()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=HERE.parent / "docs")
    args = parser.parse_args()
    text = "\n".join(page(args.to)).rstrip() + "\n"
    args.to.mkdir(parents=True, exist_ok=True)
    (args.to / "performance.md").write_text(text, encoding="utf-8")
    print(f"wrote {args.to / 'performance.md'}")


if __name__ == "__main__":
    main()
