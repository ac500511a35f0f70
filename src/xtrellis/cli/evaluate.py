"""`xtrellis evaluate MODEL DATA`: how good a model, or a file of predictions, is on data with known labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core import InputError
from . import show
from .options import Beam, Debug, Format, Json, Log, ModelPath, Quiet, Read, Threads, Threshold

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Report
    from ..tagger import Tagger


def evaluate(
    model: ModelPath,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Data with known labels; with --predictions, MODEL may be left out."),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", metavar="FILE", help="Measure what `predict` wrote (.jsonl, .txt, .npz)."),
    ] = None,
    metrics: Annotated[
        list[str] | None, typer.Option("--metrics", help="What to measure: `P@1,R@10,F1@5,PSP@5`; repeatable.")
    ] = None,
    threshold: Threshold = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    beam: Beam = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure MODEL, or predictions that were written to a file, on DATA, whose labels are known."""
    from .files import Source, load_tagger

    source = Source(format, read, threads)
    if data is None:
        if predictions is None:
            raise InputError("evaluate takes MODEL and DATA; only with --predictions FILE may MODEL be left out")
        data, tagger = model, None
    else:
        tagger = load_tagger(model, threads, beam)
    with show.listening(quiet) as say:
        dataset = source.read(data, "test")
        say(show.dataset(source.name(data, "test"), dataset))
        if predictions is None:
            if tagger is None:
                raise TypeError("there is a model if there are no predictions")
            report = measure(tagger, dataset, metrics, threshold=threshold, say=say)
        else:
            report = _of_file(predictions, tagger, dataset, metrics, threshold)
    if json:
        given = {"model": str(model)} if tagger is not None else {}
        given |= {} if predictions is None else {"predictions": str(predictions)}
        show.as_json({**given, "data": str(data), "rows": dataset.n_rows, "metrics": dict(report)})
    else:
        show.result(report)


def measure(
    tagger: Tagger,
    dataset: Dataset,
    metrics: list[str] | None = None,
    *,
    threshold: float | None = None,
    say: show.Say,
) -> Report:
    """The tagger's own evaluation, and a line about labels that it does not know."""
    report = tagger.evaluate(dataset, metrics, threshold=threshold)
    unknown = report.n_labels - tagger.n_labels
    if unknown > 0:
        say(f"{unknown:,} labels of the data are unknown to the model; they count as missed")
    return report


def _of_file(
    path: Path, tagger: Tagger | None, dataset: Dataset, metrics: list[str] | None, threshold: float | None
) -> Report:
    """Labels of the file are numbered as the model's if there is one, else as the data's."""
    from ..data import align, read_predictions
    from ..tagger import above, evaluate_predictions

    by_name = path.name.endswith((".jsonl", ".jsonl.gz", ".jsonl.xz", ".jsonl.zst"))
    if tagger is None:
        if not by_name and dataset.texts is not None:  # which number their labels each on its own
            raise InputError(
                f"{path} has labels by number: give the model that made it, evaluate MODEL --predictions …"
            )
        top, names = read_predictions(path, dataset.label_names, n_labels=dataset.n_labels)
    else:
        known = align(dataset, tagger.label_names, unknown="keep").label_names or tagger.label_names
        top, names = read_predictions(path, known if by_name else tagger.label_names)
    if len(top) != dataset.n_rows:
        raise InputError(f"{path} has predictions for {len(top):,} rows; the data has {dataset.n_rows:,}")
    top = above(top, threshold)
    if tagger is None:
        return evaluate_predictions(dataset, top, names, metrics)
    return tagger.evaluate(dataset, metrics, predictions=top)
