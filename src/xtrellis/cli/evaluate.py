"""`xtrellis evaluate MODEL DATA`: how good a model, or a file of predictions, is on data with known labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core import InputError
from . import show
from .options import (
    Beam,
    DataEncoding,
    Debug,
    Delimiter,
    Format,
    Json,
    LeaveOutBadRows,
    Log,
    ModelPath,
    Quiet,
    Read,
    Threads,
    Threshold,
    threshold_of,
)

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
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw how often answers that claim a probability are right."),
    ] = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    delimiter: Delimiter = None,
    encoding: DataEncoding = None,
    skip_bad_rows: LeaveOutBadRows = False,
    beam: Beam = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure MODEL, or predictions that were written to a file, on DATA, whose labels are known."""
    from .files import Source, load_tagger, require_probabilities

    cut = threshold_of(threshold)
    if plot is not None and predictions is not None:
        raise InputError("--plot shows the probabilities of a model; leave --predictions out")
    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    if predictions is not None and skip_bad_rows:
        raise InputError(
            "--skip-bad-rows leaves out rows of DATA, and predictions would stand beside the wrong ones; mend the rows"
        )
    if data is None:
        if predictions is None:
            raise InputError("evaluate takes MODEL and DATA; only with --predictions FILE may MODEL be left out")
        data, tagger = model, None
    else:
        tagger = load_tagger(model, threads, beam)
    if tagger is not None and predictions is None:
        for option in ([] if plot is None else ["--plot"]) + ([f"--threshold {cut}"] if isinstance(cut, str) else []):
            require_probabilities(tagger, model, option)
    if plot is not None:
        from ..metrics import Reliability

        Reliability.check_path(plot)
    with show.listening(quiet) as say:
        dataset = source.read(data, "test", beside=tagger)
        say(show.dataset(source.name(data, "test"), dataset))
        require_labels(dataset, data)
        if predictions is None:
            if tagger is None:
                raise TypeError("there is a model if there are no predictions")
            report = measure(tagger, dataset, metrics, threshold=cut, say=say)
            reliable = tagger.reliability(dataset)
            if plot is not None and reliable is not None:
                reliable.plot(plot)
                say(f"drew {plot}")
        else:
            if isinstance(cut, str):
                raise InputError(f"--threshold {cut} is for a model's own answers; give predictions a number")
            report, reliable = _of_file(predictions, tagger, dataset, metrics, cut), None
            if tagger is not None:
                tell_unknown(tagger, dataset, say)
            if report.most_predictions is not None:
                say(_too_few(predictions, report))
    if json:
        given: dict[str, Any] = {"model": str(model)} if tagger is not None else {}
        given |= {} if predictions is None else {"predictions": str(predictions)}
        if report.most_predictions is not None:
            given |= {"most_predictions": report.most_predictions, "too_far": list(report.too_far)}
        if reliable is not None:
            given["reliability"] = reliable.to_dict()
        if report.answered is not None:
            given |= {"answered": report.answered, "answers_per_row": report.answers_per_row}
        show.as_json({**given, "data": str(data), "rows": dataset.n_rows, "metrics": dict(report)})
    else:
        show.result(report)
        if report.answered is not None:
            show.result(
                f"At --threshold {cut} {report.answered:.1f}% of rows get an answer, of "
                f"{report.answers_per_row:.1f} labels a row on average over all rows"
            )
        if reliable is not None:
            show.result(
                f"Probabilities of the first {reliable.k} answers: expected calibration error {reliable.ece:.3f}, "
                f"Brier score {reliable.brier:.3f}"
            )


def _too_few(predictions: Path, report: Report) -> str:
    deepest = max(int(name.partition("@")[2]) for name in report.too_far)
    return (
        f"{predictions} has at most {report.most_predictions} labels a row: {', '.join(report.too_far)} look further "
        f"and count the missing as wrong (predict -k {deepest} writes as many)"
    )


def require_labels(dataset: Dataset, path: Path) -> None:
    """Refuse data in which there is nothing to be right about."""
    if not dataset.Y.nnz:
        raise InputError(f"{path} has {dataset.n_rows:,} rows and no labels: there is nothing to measure on")


def measure(
    tagger: Tagger,
    dataset: Dataset,
    metrics: list[str] | None = None,
    *,
    threshold: float | str | None = None,
    say: show.Say,
) -> Report:
    """The tagger's own evaluation, and a line about labels that it does not know."""
    report = tagger.evaluate(dataset, metrics, threshold=threshold)
    tell_unknown(tagger, dataset, say)
    return report


def tell_unknown(tagger: Tagger, dataset: Dataset, say: show.Say) -> None:
    """A line about labels that the model does not know."""
    from ..tagger import unknown_labels

    unknown = unknown_labels(tagger, dataset)
    if unknown.names:
        say(f"the model does not know {unknown}; they count as missed")


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
        known = align(tagger.by_ids(dataset), tagger.label_ids, unknown="keep").label_names or tagger.label_ids
        top, names = read_predictions(path, known if by_name else tagger.label_ids)
    if len(top) != dataset.n_rows:
        raise InputError(f"{path} has predictions for {len(top):,} rows; the data has {dataset.n_rows:,}")
    top = above(top, threshold)
    if tagger is None:
        return evaluate_predictions(dataset, top, names, metrics)
    return tagger.evaluate(dataset, metrics, predictions=top)
