"""`xtrellis labels MODEL retire NAME…`: change what a model's labels are, at once and without training."""

from __future__ import annotations

from typing import Annotated

import typer

from ...core import ParameterError, shown
from .. import show
from ..options import Debug, Json, Log, ModelPath, Quiet

ACTIONS = ("show", "retire", "restore", "rename", "merge")


def labels(
    model: ModelPath,
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="`retire NAME…`, `restore NAME…`, `rename OLD NEW`, `merge NAME… --into NAME`, or `show`.",
        ),
    ] = "show",
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Labels.")] = None,
    into: Annotated[
        str | None, typer.Option("--into", metavar="NAME", help="With `merge`: the label that stays.")
    ] = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Retire, restore, rename or merge labels of MODEL: one line in its journal, a few milliseconds."""
    from ..files import load_tagger

    given = names or []
    if action not in ACTIONS:
        raise ParameterError(f"ACTION must be one of {', '.join(ACTIONS)}; got {shown(action)}")
    if (into is not None) != (action == "merge"):
        raise ParameterError("merge needs --into NAME, the label that stays; no other action takes it")
    if action == "rename" and len(given) != 2:
        raise ParameterError(f"rename takes two names, the old one and the new one; got {len(given)}")
    if action not in ("show", "rename") and not given:
        raise ParameterError(f"{action} takes at least one label; got none")
    tagger = load_tagger(model, None)
    before = tagger.version
    if action == "retire":
        tagger.retire(given)
    elif action == "restore":
        tagger.restore(given)
    elif action == "rename":
        tagger.rename({given[0]: given[1]})
    elif action == "merge":
        tagger.merge(given, into=into or "")
    if tagger.version > before:
        tagger.write_changes(model, since=before)
    if json:
        show.as_json(
            {"model": str(model), "version": tagger.version, "labels": tagger.n_labels, "retired": tagger.retired}
            | {"merged": tagger.merged}
        )
        return
    if tagger.version > before:
        from .history import what_happened

        show.result(f"Version {tagger.version} of {model}: {what_happened(tagger.history()[-1])}.")
        return
    show.result(f"{tagger.n_labels:,} labels, {len(tagger.retired):,} retired, {len(tagger.merged):,} merged.")
    for name in tagger.retired:
        show.result(f"  retired  {name}")
    for name, other in tagger.merged.items():
        show.result(f"  merged   {name} → {other}")
