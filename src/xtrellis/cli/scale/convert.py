"""`xtrellis convert DATA --to data.xt`: data as a folder of mapped files, or in another format."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core import InputError
from .. import show
from ..options import DataEncoding, DataPaths, Debug, Delimiter, Format, LeaveOutBadRows, Log, Quiet, Read, Threads


def convert(
    data: DataPaths,
    to: Annotated[
        Path,
        typer.Option("--to", metavar="FOLDER", help="Data folder to write (`data.xt`), or a file of another format."),
    ],
    append: Annotated[bool, typer.Option("--append", help="Add the rows to the data folder that is there.")] = False,
    format: Format = None,
    read: Read = None,
    delimiter: Delimiter = None,
    encoding: DataEncoding = None,
    skip_bad_rows: LeaveOutBadRows = False,
    threads: Threads = None,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write DATA as a data folder, which is opened at once and may be larger than memory."""
    from ...data import convert as convert_data
    from ...data import open as open_folder
    from ...data import write
    from ..files import Source, files_of, folder_size, has_parts

    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    started = time.monotonic()
    with show.listening(quiet) as say:
        if to.suffix != ".xt" and not append and not to.is_dir():
            dataset = source.read_all(data, "train")
            if to.exists():
                raise InputError(f"{to} is there already; choose another place")
            write(dataset, to)
            n_rows, n_bytes = dataset.n_rows, to.stat().st_size
        else:
            found = [file for path in data for file in files_of(path, format)]
            options: dict[str, Any] = dict(source.options)
            if any(has_parts(path) for path in data):
                options.setdefault("part", "train")
            convert_data(found, to, append=append, **options)
            n_rows, n_bytes = open_folder(to).n_rows, folder_size(to)
        spent = time.monotonic() - started
        say(f"wrote {to}: {n_rows:,} rows, {show.size(n_bytes)} in {show.seconds(spent)}")
