"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _debug(context: typer.Context, value: bool) -> bool:
    if value:
        context.find_root().obj.debug = True
    return value


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
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")]
DataPath = Annotated[Path, typer.Argument(metavar="DATA", help="A data file: XMC text, svmlight, npz, jsonl, csv, …")]
K = Annotated[int, typer.Option("-k", min=1, help="Labels per row.")]
