"""`xtrellis experiment NAME`: measure what a paper measured, and write the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core import InputError
from . import show
from .options import Debug, Log, Quiet, Threads


def experiment(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which experiment; lists them if left out.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", help="Folder of results, page and plots.")] = Path("experiments"),
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="A data set: `pydocs`, a shared one, a folder with train and test; NAME@1000: so many rows of it that "
            "share labels; repeatable.",
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, help="Seeds 0, 1, … to run.")] = None,
    small: Annotated[bool, typer.Option("--small", help="A small version: fewer settings.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="FIELD=VALUE", help="Only runs with this, such as part=cost; repeatable."),
    ] = None,
    page: Annotated[
        bool, typer.Option("--page", help="Only write the page anew from the results that are there.")
    ] = False,
    threads: Threads = None,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run an experiment (runs that the results hold already are not repeated) and write its page."""
    from .. import experiments

    if name is None:
        for known in sorted(experiments.EXPERIMENTS):
            found = experiments.experiment(known)
            show.result(f"{known}: {found.title} (on {', '.join(found.data)})")
        return
    chosen = experiments.experiment(name)
    with show.listening(quiet):
        if page:
            path = experiments.write_page(chosen, to)
        else:
            path = experiments.run_all(
                chosen, to, data=data or (), seeds=seeds, small=small, only=_wanted(only or []), threads=threads
            )
    show.result(f"results and page: {path}")


def _wanted(only: list[str]) -> dict[str, list[str]]:
    """Values by field; several of one field mean any of them."""
    out: dict[str, list[str]] = {}
    for text in only:
        field, equals, value = text.partition("=")
        if not (field and equals):
            raise InputError(f"--only takes FIELD=VALUE; got {text!r}")
        out.setdefault(field, []).append(value)
    return out
