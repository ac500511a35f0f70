"""`xtrellis compare A B DATA`: which of two models is better, for which labels, and on which rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import show
from .options import (
    Beam,
    DataEncoding,
    DataPath,
    Debug,
    Delimiter,
    Format,
    Json,
    LeaveOutBadRows,
    Log,
    Quiet,
    Read,
    Threads,
)

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Comparison
    from ..tagger import Tagger

LONGEST = 100  # characters of a text that are shown


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of a trained model.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Folder of another one.")],
    data: DataPath,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", help="What to compare: `P@1,F1@5`; rows go by the first.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Labels per row for the recall by label frequency.")] = 5,
    rows: Annotated[int, typer.Option("--rows", min=0, help="Rows to show where the two differ most.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the resampling.")] = 0,
    beam: Beam = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    delimiter: Delimiter = None,
    encoding: DataEncoding = None,
    skip_bad_rows: LeaveOutBadRows = False,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Tell which of two models is better on DATA, with intervals of the differences, and where they differ."""
    from ..tagger import unknown_labels
    from .evaluate import require_labels
    from .files import Source, load_tagger

    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    first, second = load_tagger(a, threads, beam), load_tagger(b, threads, beam)
    with show.listening(quiet) as say:
        dataset = source.read(data, "test", beside=first)
        say(show.dataset(source.name(data, "test"), dataset))
        require_labels(dataset, data)
        found = first.compare(second, dataset, metrics, k=k, seed=seed)
    unknown = {name: unknown_labels(it, dataset) for name, it in (("a", first), ("b", second))}
    differing = [_row(first, second, dataset, row, found, k) for row in found.rows[:rows]]
    if json:
        lacking = {name: labels.to_dict() for name, labels in unknown.items()}
        given = {"a": str(a), "b": str(b), "data": str(data)}
        show.as_json({**given, **found.to_dict(), "rows": differing, "unknown": lacking})
        return
    show.result(f"A = {a}, B = {b}")
    show.result(found)
    for name, labels in unknown.items():
        if labels.names:
            show.result(f"{name.upper()} does not know {labels}; they count as missed")
    for told in differing:
        show.result(f"\nrow {told['row']}, {next(iter(found.metrics))} {told['gain']:+.1f}: {told['text']}")
        show.result("  labels  " + ", ".join(told["labels"]))
        for name in ("a", "b"):
            right = set(told["labels"])
            shown = [f"{label} ✓" if label in right else label for label in told[name]]
            show.result(f"  {name.upper()}       " + (", ".join(shown) or "(no labels)"))


def _row(a: Tagger, b: Tagger, dataset: Dataset, row: int, found: Comparison, k: int) -> dict[str, Any]:
    """One row as both see it."""
    one = dataset.select([row])
    text = " ".join(one.texts[0].split()) if one.texts is not None else ""
    shown = {name: [tag.label for tag in it.named(it.predict(one, k))[0]] for name, it in (("a", a), ("b", b))}
    return {
        "row": row,
        "gain": float(found.gains[row]),
        "text": text if len(text) <= LONGEST else text[: LONGEST - 1] + "…",
        "labels": one.labels_of(0),
        **shown,
    }
