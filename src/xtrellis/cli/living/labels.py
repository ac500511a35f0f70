"""`xtrellis labels MODEL retire NAME…`: change what a model's labels are, at once and with little or no training."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...core import DataError, ParameterError, shown
from .. import interrupt, show
from ..options import Debug, Json, Log, ModelPath, Quiet

if TYPE_CHECKING:
    from ...tagger import Tagger

ACTIONS = ("show", "rows", "retire", "restore", "rename", "merge", "split")


def labels(
    model: ModelPath,
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="`retire NAME…`, `restore NAME…`, `rename OLD NEW`, `merge NAME… --into NAME`, `split NAME --into …`, "
            "`rows NAME`, or `show`.",
        ),
    ] = "show",
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Labels.")] = None,
    into: Annotated[
        list[str] | None,
        typer.Option(
            "--into",
            metavar="NAME",
            help="With `merge`: the label that stays. With `split`, repeated: `NAME=word,word`, a label that gets the "
            "rows whose text has one of these words.",
        ),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option("--rows", metavar="FILE", help="With `split`: lines of `NUMBER TAB LABEL`, which row gets which."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="With `split`: the label stays, for rows that no other gets.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="MODEL2", help="With `split`: folder to write; MODEL itself if not given."),
    ] = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Retire, restore, rename, merge or split labels of MODEL; `rows` lists the kept rows that have one."""
    from ..files import load_tagger

    given, targets = names or [], into or []
    _check(action, given, targets, rows, keep=keep, to=to)
    if action == "split":
        _split(model, given[0], _shares(targets, rows), keep, to or model, json=json, quiet=quiet)
        return
    tagger = load_tagger(model, None)
    if action == "rows":
        found = tagger.label_rows(given[0])
        if json:
            show.as_json([{"row": row, "text": text} for row, text in found.items()])
        else:
            show.result("\n".join(f"{row}\t{' '.join(text.split())}" for row, text in found.items()))
        return
    before = tagger.version
    if action == "retire":
        tagger.retire(given)
    elif action == "restore":
        tagger.restore(given)
    elif action == "rename":
        tagger.rename({given[0]: given[1]})
    elif action == "merge":
        tagger.merge(given, into=targets[0])
    if tagger.version > before:
        tagger.write_changes(model, since=before)
    _tell(tagger, model, before, json=json)


def _check(
    action: str, given: list[str], targets: list[str], rows: Path | None, *, keep: bool, to: Path | None
) -> None:
    if action not in ACTIONS:
        raise ParameterError(f"ACTION must be one of {', '.join(ACTIONS)}; got {shown(action)}")
    if action == "merge" and len(targets) != 1:
        raise ParameterError("merge needs --into NAME, the label that stays")
    if targets and action not in ("merge", "split"):
        raise ParameterError("--into belongs to merge and split; no other action takes it")
    if action != "split" and (rows is not None or keep or to is not None):
        raise ParameterError("--rows, --keep and --to belong to split")
    if action == "split" and bool(targets) == (rows is not None):
        raise ParameterError(
            "split needs --into NAME=word,word for each new label, or --rows FILE with lines of NUMBER TAB LABEL "
            "(`xtrellis labels MODEL rows NAME` lists the numbers)"
        )
    if action == "rename" and len(given) != 2:
        raise ParameterError(f"rename takes two names, the old one and the new one; got {len(given)}")
    if action in ("rows", "split") and len(given) != 1:
        raise ParameterError(f"{action} takes one label; got {len(given)}")
    if action not in ("show", "rename") and not given:
        raise ParameterError(f"{action} takes at least one label; got none")


def _shares(targets: list[str], rows: Path | None) -> dict[str, list[int] | Callable[[str], bool]]:
    """What each new label gets, by words or by a file."""
    if rows is None:
        return dict(map(_by_words, targets))
    out: dict[str, list[int] | Callable[[str], bool]] = {}
    found: dict[str, list[int]] = {}
    try:
        lines = rows.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path=rows) from None
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        number, tab, name = line.partition("\t")
        name = name.rpartition("\t")[2].strip()  # what `rows` lists, with a column added, will do
        if not tab or not number.strip().isdecimal() or not name or len(number) > 12:
            raise DataError(f"must be NUMBER TAB LABEL; got {shown(line)}", path=rows, line=i + 1)
        found.setdefault(name, []).append(int(number))
    out.update(found)
    return out


def _by_words(target: str) -> tuple[str, Callable[[str], bool]]:
    name, equals, listed = target.rpartition("=")
    words = [word.strip() for word in listed.split(",") if word.strip()]
    if not equals or not name.strip() or not words:
        raise ParameterError(f"--into of split must be NAME=word,word; got {shown(target)}")
    from ...tagger import having_words

    return name.strip(), having_words(words)


def _split(
    model: Path, label: str, shares: dict[str, list[int] | Callable[[str], bool]], keep: bool, to: Path, *,
    json: bool, quiet: bool,
) -> None:  # fmt: skip
    from ...store import journal_lock
    from ..files import check_target, load_tagger

    check_target(to)
    in_place = to.exists() and model.exists() and to.resolve() == model.resolve()
    with interrupt.leaving(), show.listening(quiet), journal_lock(model) if in_place else nullcontext():
        tagger = load_tagger(model, None)
        before = tagger.version
        tagger.split(label, shares, keep=keep)
        tagger.save(to)
    _tell(tagger, to, before, json=json)


def _tell(tagger: Tagger, model: Path, before: int, *, json: bool) -> None:
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
