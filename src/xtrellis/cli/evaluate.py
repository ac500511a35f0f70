"""`xtrellis evaluate MODEL DATA`: how good a model is on data with known labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import show
from .options import Beam, DataPath, Debug, Format, Json, ModelPath, Quiet, Read, Threads

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Report
    from ..tagger import Tagger


def evaluate(
    model: ModelPath,
    data: DataPath,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", help="What to measure: `P@1,R@10,PSP@5`; repeatable.")
    ] = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    beam: Beam = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure MODEL on DATA, whose labels are known."""
    from .files import Source, load_tagger

    source = Source(format, read, threads)
    tagger = load_tagger(model, threads, beam)
    with show.listening(quiet) as say:
        dataset = source.read(data, "test")
        say(show.dataset(source.name(data, "test"), dataset))
        report = measure(tagger, dataset, metrics, say=say)
    if json:
        show.as_json({"model": str(model), "data": str(data), "rows": dataset.n_rows, "metrics": dict(report)})
    else:
        show.result(report)


def measure(tagger: Tagger, dataset: Dataset, metrics: list[str] | None = None, *, say: show.Say) -> Report:
    """The tagger's own evaluation, and a line about labels that it does not know."""
    report = tagger.evaluate(dataset, metrics)
    unknown = report.n_labels - tagger.n_labels
    if unknown > 0:
        say(f"{unknown:,} labels of the data are unknown to the model; they count as missed")
    return report
