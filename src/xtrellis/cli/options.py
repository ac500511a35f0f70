"""Options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core import Engine, ParameterError, shown


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
    str | None,
    typer.Option(
        "--threshold",
        metavar="NUMBER|auto",
        help="Only labels with at least this probability, or score if the model knows none; `auto` cuts each row where "
        "its expected F1 is best, `auto-corpus` where that of held-out rows was.",
    ),
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
LeaveOutBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Leave out rows of texts that cannot be read, and tell how many.")
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="What separates the columns of CSV and TSV: `;`, `tab`; found if not given."),
]
DataEncoding = Annotated[
    str | None, typer.Option("--encoding", help="Of texts that are not UTF-8: `latin-1`, `utf-16`, …")
]
Encoding = Annotated[str, typer.Option("--encoding", help="Of texts that are not UTF-8: `latin-1`, `utf-16`, …")]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")]
DataPaths = Annotated[
    list[Path],
    typer.Argument(metavar="DATA", help="A data file: XMC text, svmlight, npz, jsonl, csv, …; several are joined."),
]
DataPath = Annotated[Path, typer.Argument(metavar="DATA", help="A data file: XMC text, svmlight, npz, jsonl, csv, …")]
EngineName = Annotated[
    str | None, typer.Option("--engine", help="Where tasks run: `local` (threads, as if not given) or `ray`.")
]
Address = Annotated[
    str | None,
    typer.Option("--address", help="With `--engine ray`: of the cluster, or `auto`; starts one if not given."),
]
K = Annotated[int, typer.Option("-k", min=1, help="Labels per row.")]


def threshold_of(given: str | None) -> float | str | None:
    """What `--threshold` says: a number, or how to find one."""
    if given is None or given in ("auto", "auto-corpus"):
        return given
    try:
        return float(given)
    except ValueError:
        raise ParameterError(f"--threshold must be a number, auto or auto-corpus; got {shown(given)}") from None


def engine_of(name: str | None, address: str | None, workers: int | None = None) -> Engine | None:
    """What `--engine` and `--address` say; None for threads."""
    if name not in (None, "local", "ray"):
        raise ParameterError(f"--engine must be local or ray; got {shown(name)}")
    if name != "ray":
        if address is not None:
            raise ParameterError("--address belongs to --engine ray")
        return None
    from ..engines import Ray

    return Ray(address, workers=None if address is not None else workers)
