"""`xtrellis inspect PATH`: what a data file or a model folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core import DataError, InputError, as_path
from . import show
from .options import (
    DataEncoding,
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


def inspect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A model folder or a data file.")],
    copies: Annotated[
        Path | None,
        typer.Option("--copies", metavar="DATA", help="Show what the places of labels with several are for, by DATA."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="With --copies: write a page as well.")
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte of a model against its hashes.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the learning curves of a model (.png, .svg, .pdf)."),
    ] = None,
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
    """Show what a data file or a model holds."""
    from .files import Source, is_model

    if str(path) != "-" and not as_path(path, error=DataError).exists():
        raise DataError("there is no such file or folder", path=path)
    if html is not None and copies is None:
        raise InputError("--html belongs to --copies DATA")
    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    found: Any
    with show.listening(quiet):
        if copies is not None:
            found = _copies(path, copies, source, threads)
            if html is not None:
                html.write_text(found.to_html(f"{path.name}: labels in several places"), encoding="utf-8")
        elif is_model(path):
            from .. import store

            found = store.describe(path, verify=verify)
            if plot is not None:
                _plot(path, plot)
        elif verify or plot is not None:
            what = "--verify checks" if verify else "--plot draws learning curves of"
            raise InputError(f"{what} models; {path} is not one")
        else:
            from ..data import describe

            found = describe(source.read(path, "train"))
    if json:
        show.as_json(found.to_dict())
    else:
        show.result(found)


def _copies(path: Path, data: Path, source: Any, threads: int | None) -> Any:
    """The places of a model's labels, as the rows of a data file show them."""
    from ..data import align
    from ..experiments import copies_report
    from ..linear import LinearTree
    from .files import load_tagger

    tagger = load_tagger(path, threads, None)
    if not isinstance(tagger.model, LinearTree):
        raise InputError(f"--copies needs a LinearTree; this is a {type(tagger.model).__name__}")
    dataset = align(tagger.by_ids(source.read(data, "train")), tagger.label_ids)
    X = dataset.X if tagger.vectorizer is None else tagger.vectorizer.transform(dataset.texts or [])
    return copies_report(tagger.model, dataset, X=X)


def _plot(path: Path, to: Path) -> None:
    from ..neural import plot_curves
    from ..store import load

    model = load(path)
    model = getattr(model, "model", model)  # inside a tagger
    curves = getattr(model, "curves", None)
    if not curves:
        raise InputError(f"--plot draws learning curves; a {type(model).__name__} has none")
    plot_curves(curves, to)
