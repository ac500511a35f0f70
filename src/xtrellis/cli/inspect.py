"""`xtrellis inspect PATH`: what a data file or a model folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import DataError, InputError
from . import show
from .options import Debug, Format, Json, Quiet, Read, Threads


def inspect(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A model folder or a data file.")],
    verify: Annotated[bool, typer.Option("--verify", help="Check every byte of a model against its hashes.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the learning curves of a model (.png, .svg, .pdf)."),
    ] = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what a data file or a model holds."""
    from .files import is_model

    if not path.exists():
        raise DataError("there is no such file or folder", path=path)
    found: Any
    with show.listening(quiet):
        if is_model(path):
            from .. import store

            found = store.describe(path, verify=verify)
            if plot is not None:
                _plot(path, plot)
        elif verify or plot is not None:
            what = "--verify checks" if verify else "--plot draws learning curves of"
            raise InputError(f"{what} models; {path} is not one")
        else:
            from ..data import describe
            from .files import Source

            found = describe(Source(format, read, threads).read(path, "train"))
    if json:
        show.as_json(found.to_dict())
    else:
        show.result(found)


def _plot(path: Path, to: Path) -> None:
    from .. import store
    from ..neural.curves import plot

    model = store.load(path)
    model = getattr(model, "model", model)  # inside a tagger
    curves = getattr(model, "curves", None)
    if not curves:
        raise InputError(f"--plot draws learning curves; a {type(model).__name__} has none")
    plot(curves, to)
