"""`xtrellis history MODEL`: what has happened to a model, and back to any version of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core import ParameterError
from .. import interrupt, show
from ..options import Debug, Json, Log, ModelPath, Quiet, Threads

FEW = 5  # names that are shown


def history(
    model: ModelPath,
    back: Annotated[
        int | None,
        typer.Option("--back", metavar="VERSION", min=0, help="Make the model of this version again; with --to."),
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="MODEL2", help="With --back: folder to write.")] = None,
    threads: Threads = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Tell every version of MODEL: what was done, when, by which input. `--back` makes one of them again."""
    from ..files import check_target, folder_size, load_tagger

    if (back is None) != (to is None):
        raise ParameterError("--back VERSION and --to MODEL2 go together: the version to make again, and where to")
    tagger = load_tagger(model, threads)
    if back is not None and to is not None:
        check_target(to)
        with interrupt.leaving(), show.listening(quiet):
            tagger.at_version(back).save(to)
        if json:
            show.as_json({"model": str(to), "version": back, "bytes": folder_size(to)})
        else:
            show.result(f"Saved {to} ({show.size(folder_size(to))}), version {back} of {model}.")
        return
    entries = tagger.history()
    if json:
        drift = tagger.drift().to_dict() if tagger.life.rows is not None else None
        show.as_json({"model": str(model), "history": entries, "drift": drift})
        return
    for entry in entries:
        show.result(f"{entry['version']:>4}  {entry.get('when') or '':25}  {what_happened(entry)}")
    if tagger.life.rows is not None:
        show.result(str(tagger.drift()))


def what_happened(entry: Mapping[str, Any]) -> str:
    """One line."""
    what = entry["what"]
    if what in ("retire", "restore"):
        return f"{what}d {_some(entry['labels'])}"
    if what == "rename":
        names = entry["names"] if "names" in entry else entry["shown"]
        return "renamed " + _some([f"{old} to {new or 'its name in the vocabulary'}" for old, new in names.items()])
    if what == "merge":
        return f"merged {_some(entry['labels'])} into {entry['into']}"
    if what == "split":
        shares = [f"{name} ({count:,} rows)" for name, count in entry["into"].items()]
        return f"split {entry['label']} into {_some(shares)}" + ("" if entry["keep"] else "; it is retired")
    if what == "vocabulary":
        return _vocabulary(entry)
    if what == "forget":
        return f"forgot {len(entry['rows']):,} rows"
    if what == "refresh":
        return f"trained again on all {entry['rows']:,} rows, {entry['labels']:,} labels"
    if what == "update":
        p = entry.get("precision before", {}).get("P@5")
        measured = "" if p is None else f"; P@5 on them before: {p:.1f}"
        return f"learned {entry['rows']:,} rows, {entry['new labels']:,} new labels{measured}; input {entry['input']}"
    return "trained" + (f" on {entry['rows']:,} rows" if "rows" in entry else "")


def _vocabulary(entry: Mapping[str, Any]) -> str:
    told = [f"{entry['labels']:,} labels"]
    told += [f"{entry['new labels']:,} new"] if entry["new labels"] else []
    for name, what in (("retired", "retired"), ("restored", "restored"), ("gone", "gone from it")):
        told += [f"{len(entry[name]):,} {what}"] if name in entry else []
    moved = len(entry.get("merged", ())) + len(entry.get("became", ()))
    return "took over a newer vocabulary: " + ", ".join([*told, *([f"{moved:,} replaced"] if moved else [])])


def _some(names: list[str]) -> str:
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")
