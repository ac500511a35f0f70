"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _debug(context: typer.Context, value: bool) -> bool:
    if value:
        context.find_root().obj.debug = True
    return value


def _log(context: typer.Context, value: str | None) -> str | None:
    from . import show

    if value not in (None, *show.LOGS):
        raise typer.BadParameter(f"must be {' or '.join(show.LOGS)}; got {value!r}")
    if value is not None:
        show.log = value
    return value


Log = Annotated[
    str | None,
    typer.Option("--log", callback=_log, is_eager=True, help="Progress and notes as `plain` lines or as `json` lines."),
]
Debug = Annotated[bool, typer.Option("--debug", callback=_debug, is_eager=True, help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes; results only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Beam = Annotated[
    int | None, typer.Option("--beam", min=1, help="Nodes per level that search keeps; the model's own if not given.")
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Threads to use; all cores if not given.")]
Format = Annotated[str | None, typer.Option("--format", help="Format of DATA; found from its content if not given.")]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="KEY=VALUE", help="How to read DATA: `label_column=tags`, `index_base=1`; repeatable."
    ),
]
Threshold = Annotated[
    float | None, typer.Option("--threshold", help="Only labels with at least this score; all if not given.")
]
Guess = Annotated[
    bool, typer.Option("--guess", help="Give texts without any known word the labels that are likely anyway.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COLUMN", help="Pass this column of DATA through (`id` always is); repeatable."),
]
SkipBadRows = Annotated[
    bool,
    typer.Option("--skip-bad-rows", help="A row that cannot be read gets no labels, and a reason; the rest go on."),
]
Encoding = Annotated[str, typer.Option("--encoding", help="Of texts that are not UTF-8: `latin-1`, `utf-16`, …")]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")]
DataPaths = Annotated[
    list[Path],
    typer.Argument(metavar="DATA", help="A data file: XMC text, svmlight, npz, jsonl, csv, …; several are joined."),
]
DataPath = Annotated[Path, typer.Argument(metavar="DATA", help="A data file: XMC text, svmlight, npz, jsonl, csv, …")]
K = Annotated[int, typer.Option("-k", min=1, help="Labels per row.")]
