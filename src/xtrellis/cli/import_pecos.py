"""`xtrellis import-pecos FOLDER --to MODEL`: a PECOS XR-Linear model becomes one of ours, with the same answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import show
from .options import Debug, Json, Log, Quiet


def import_pecos(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What PECOS's XLinearModel.save wrote.")],
    to: Annotated[Path, typer.Option("--to", metavar="MODEL", help="Folder to write; a model there is replaced.")],
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="FILE", help="Names of the labels, one per line; numbers if not given."),
    ] = None,
    transform: Annotated[
        str | None, typer.Option("--transform", help="Replaces the post-processor that the model was saved with.")
    ] = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Turn a PECOS XR-Linear model into a model of ours that gives the same answers."""
    from ..data import read_names
    from ..interop import import_pecos as read_pecos
    from ..tagger import Tagger
    from .files import check_target, folder_size

    check_target(to)
    with show.listening(quiet) as say:
        model = read_pecos(folder, transform=transform)
        say(f"{model.tree!r}, {model.trees[0].n_features:,} features, {show.size(model.trees[0].n_bytes)}")
        names = None
        if labels is not None:
            labels.stat()  # a name that is mistyped must not be taken for a model without names
            names = read_names(labels.parent, labels.name, model.n_labels, "labels")
        Tagger.of_model(model, names).save(to)
    if json:
        show.as_json(
            {"model": str(to), "bytes": folder_size(to), "labels": model.n_labels, "beam": model.beam}
            | {"features": model.trees[0].n_features, "transform": model.transform}
        )
        return
    show.result(f"Saved {to} ({show.size(folder_size(to))}), was {show.size(folder_size(folder))}.")
