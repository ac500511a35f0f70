"""`xtrellis update MODEL DATA --to MODEL2`: a model learns new rows, forgets some, or is trained again on all."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core import ParameterError, shown
from .. import interrupt, show
from ..options import (
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
)

if TYPE_CHECKING:
    from ...data import Dataset
    from ...tagger import Tagger


def update(
    model: ModelPath,
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DATA]", help="New rows, with labels old or new; several are joined."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="MODEL2", help="Folder to write; MODEL itself, to replace it when all is done."),
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option("--forget", metavar="ROWS", help="Let kept rows go, by their numbers: `17,40-59`; before DATA."),
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Train again on all rows that are kept, words and all; after DATA.")
    ] = False,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            "--vocabulary",
            metavar="NEW",
            help="A newer version of the model's vocabulary: what it retires or replaces is not answered any more, new "
            "names are known; before DATA. `xtrellis vocabulary diff MODEL NEW` says what will happen.",
        ),
    ] = None,
    unknown: Annotated[
        Path | None,
        typer.Option("--unknown", metavar="FILE", help="List labels of DATA that the model's vocabulary lacks (.tsv)."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from where a stopped update was.")] = False,
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
    """Let MODEL learn the rows of DATA. It must have kept its training rows (`train --keep-rows`)."""
    from ...store import journal_lock
    from ...vocabulary import Vocabulary
    from ..files import Source, check_target, folder_size, load_tagger
    from ..vocabulary.words import check_list
    from .checkpoints import Checkpoints

    started = time.monotonic()
    if to is None:
        raise ParameterError("--to is missing: the folder to write, such as --to MODEL2, or MODEL itself")
    if not data and forget is None and not refresh and vocabulary is None:
        raise ParameterError("there is nothing to do: give DATA, --vocabulary NEW, --forget ROWS or --refresh")
    check_target(to)
    if unknown is not None:
        if not data:
            raise ParameterError("--unknown lists labels of DATA, which is not given")
        check_list(unknown)
    rows = None if forget is None else _numbers(forget)
    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    in_place = to.exists() and model.exists() and to.resolve() == model.resolve()
    with show.listening(quiet) as say, journal_lock(model) if in_place else nullcontext(), ExitStack() as stack:
        tagger = load_tagger(model, threads)
        checkpoints = Checkpoints(to, tagger.model, resume, ("update-checkpoint", "refresh-checkpoint"))
        stack.enter_context(interrupt.leaving(*checkpoints.places))
        before, labels_before = tagger.version, tagger.n_labels
        if vocabulary is not None:
            tagger.change_vocabulary(Vocabulary.read(vocabulary))
        if rows is not None:
            tagger.forget(rows)
            say(f"{len(rows):,} rows forgotten")
        if data:
            dataset = source.read_all(data, "train")
            say(show.dataset(source.name(data, "train"), dataset))
            if unknown is not None:
                _list_unknown(tagger, dataset, unknown)
            say(f"at most what a training takes; {tagger.estimate_update(dataset)}")
            tagger.update(dataset, checkpoint=checkpoints.open("update-checkpoint", say))
        if refresh:
            tagger.refresh(checkpoint=checkpoints.open("refresh-checkpoint", say))
        tagger.save(to)
        checkpoints.discard()
    taken, n_bytes = time.monotonic() - started, folder_size(to)
    entries = tagger.history()[before + 1 :]
    if json:
        drift = tagger.drift().to_dict() if tagger.life.rows is not None else None
        show.as_json(
            {"model": str(to), "version": tagger.version, "changes": entries, "drift": drift, "bytes": n_bytes}
            | {"seconds": round(taken, 3)}
        )
        return
    for entry in entries:
        show.result(_told(entry))
    if tagger.n_labels > labels_before:
        show.result(f"It knows {tagger.n_labels:,} labels now, {tagger.n_labels - labels_before:,} more than before.")
    if tagger.life.rows is not None:
        show.result(f"{str(tagger.drift())[:1].upper()}{str(tagger.drift())[1:]}.")
    show.result(f"Saved {to} ({show.size(n_bytes)}), version {tagger.version}, after {show.seconds(taken)}.")


def _list_unknown(tagger: Tagger, dataset: Dataset, to: Path) -> None:
    if tagger.vocabulary is None:
        raise ParameterError("--unknown goes with a vocabulary, which this model does not have")
    tagger.resolved(dataset).write_unknown(to)


def _told(entry: dict[str, object]) -> str:
    from .history import what_happened

    return f"Version {entry['version']}: {what_happened(entry)}."


def _numbers(text: str) -> list[int]:
    """`17,40-59` as numbers."""
    out: list[int] = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(first) > 10 or len(last) > 10:
            raise ParameterError(f"--forget must be numbers of rows, such as 17,40-59; got {shown(text)}")
        end = int(last) if dash else int(first)
        if not int(first) <= end < int(first) + 10_000_000:
            raise ParameterError(f"--forget must be numbers of rows, such as 17,40-59; got {shown(text)}")
        out += range(int(first), end + 1)
    return out
