"""`xtrellis vocabulary show|diff|check`: what a vocabulary holds, what has changed in it, what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core import InputError
from .. import show
from ..files import is_model
from ..options import Debug, Json, Log, Quiet

if TYPE_CHECKING:
    from ...tagger import VocabularyChange
    from ...vocabulary import Label, Vocabulary, VocabularyDiff

vocabulary = typer.Typer(
    name="vocabulary", help="Look at a vocabulary: what it holds, what has changed, what is wrong with it."
)
FAULTY = 2  # exit code of `check` if something contradicts itself
Place = Annotated[
    Path, typer.Argument(metavar="VOCABULARY", help="SKOS (.ttl, .nt, .rdf, .jsonld), .tsv, .csv, .jsonl, or a model.")
]
VocabularyFormat = Annotated[
    str | None,
    typer.Option("--format", help="Of a file: turtle, nt, xml, json-ld, tsv, csv, jsonl; by its name if not given."),
]
Language = Annotated[str | None, typer.Option("--language", help="Language of the names that are shown.")]
SHOWN = 20  # labels or changes of a kind that are listed without --all


@vocabulary.command("show")
def show_vocabulary(
    path: Place,
    label: Annotated[
        list[str] | None, typer.Argument(metavar="[LABEL]", help="Ids, names, or parts of names; a summary if none.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Labels that are shown for a part of a name.")] = 10,
    language: Language = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write the vocabulary: .jsonl, .tsv or .csv.")
    ] = None,
    format: VocabularyFormat = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Show what a vocabulary holds, or some of its labels."""
    with show.listening(quiet) as say:
        found = open_vocabulary(path, format)
        if language is not None and not found.speaks(language):
            spoken = ", ".join(tag for tag in found.languages if tag) or "none that is said"
            raise InputError(f"--language: there are no names in {language!r}; languages: {spoken}")
        if to is not None:
            found.write(to, language=language)
            say(f"wrote {to}: {len(found):,} labels")
    if not label:
        facts = summary(found)
        if json:
            show.as_json(facts)
        else:
            show.result("\n".join(f"{name:>12}  {_told(value)}" for name, value in facts.items()))
        return
    chosen = [one for name in label for one in _labels(found, name, k, language)]
    if json:
        show.as_json([one.to_dict() for one in chosen])
        return
    for i, one in enumerate(chosen):
        if i:
            show.result("")
        show.result(describe(found, one, language))


@vocabulary.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A vocabulary: a file, or a model.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="A later version of it.")],
    language: Language = None,
    every: Annotated[bool, typer.Option("--all", help="List every change, not only the first of each kind.")] = False,
    format: VocabularyFormat = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare two versions of a vocabulary: labels that came, went, or changed; and what that means for a model."""
    with show.listening(quiet):
        before, after = open_vocabulary(old, format), open_vocabulary(new, format)
        found = before.diff(after)
        plan = _planned(old, after)
    if json:
        show.as_json({**found.to_dict(), **({} if plan is None else {"model": plan.to_dict()})})
        return
    if not found:
        show.result("no difference")
        return
    _show_diff(found, before, after, language, None if every else SHOWN)
    if plan is not None:
        show.result(f"`xtrellis update {old} --vocabulary {new} --to {old}` does this to its {plan}")
        for name, sign in (("retired", "x"), ("restored", "o"), ("gone", "?")):
            for id in getattr(plan, name)[: None if every else SHOWN]:
                show.result(f"{sign} {id}: {name}")
        for id, other in list({**plan.merged, **plan.became}.items())[: None if every else SHOWN]:
            show.result(f"> {id}: answered as {other}")


def _planned(model: Path, after: Vocabulary) -> VocabularyChange | None:
    """What would become of a model's labels; None if it is no such model."""
    from ...store import load
    from ...tagger import Tagger

    held = load(model) if is_model(model) else None
    return held.planned_change(after) if isinstance(held, Tagger) and held.vocabulary is not None else None


def _show_diff(
    found: VocabularyDiff, before: Vocabulary, after: Vocabulary, language: str | None, most: int | None
) -> None:
    show.result(", ".join(f"{what}: {count:,}" for what, count in found.counts().items()))
    for mark, ids, where in (("+", found.added, after), ("-", found.removed, before)):
        for id in ids[:most]:
            number = where.number(id)
            show.result(f"{mark} {_titled(where, 0 if number is None else number, language)}")
        _more(len(ids), most)
    for id, changes in list(found.changed.items())[:most]:
        number = after.number(id)
        show.result(f"~ {_titled(after, 0 if number is None else number, language)}")
        for what, (was, now) in changes.items():
            show.result(f"    {what}: {_told(was)} → {_told(now)}")
    _more(len(found.changed), most)


@vocabulary.command()
def check(
    path: Place,
    every: Annotated[bool, typer.Option("--all", help="List everything, not only the first of each kind.")] = False,
    format: VocabularyFormat = None,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Say what is wrong or odd: rings, two names in one language, links that lead nowhere; 2 is the exit code then."""
    with show.listening(quiet=True):  # what a note would say is listed below
        found = open_vocabulary(path, format).check()
    if json:
        show.as_json(found.to_dict())
    elif not found:
        show.result("nothing is wrong")
    else:
        for kind, count in found.counts.items():
            some = [fault for fault in found if fault.kind == kind]
            most = len(some) if every else SHOWN
            show.result(f"{kind} ({count:,}{'' if some[0].error else ', may be meant'}):")
            for fault in some[:most]:
                show.result(f"    {fault.message}")
            _more(count, min(most, len(some)))
    if found.n_errors:
        raise typer.Exit(FAULTY)


def open_vocabulary(path: Path, format: str | None = None) -> Vocabulary:
    """Of a file, or of a model."""
    from ...store import load
    from ...vocabulary import Vocabulary

    if not is_model(path):
        return Vocabulary.read(path, format=format)
    held: Any = load(path)
    found = held if isinstance(held, Vocabulary) else getattr(held, "vocabulary", None)
    if not isinstance(found, Vocabulary):
        raise InputError(f"{path} is a model without a vocabulary; train --vocabulary FILE gives it one")
    return found


def summary(found: Vocabulary) -> dict[str, Any]:
    """Counts, for people and JSON."""
    import numpy as np

    from ...vocabulary import NAME_KINDS

    kinds = np.bincount(found.name_kinds, minlength=len(NAME_KINDS)).tolist()
    replaced = int((found.replaced >= 0).sum())
    return {
        "labels": len(found),
        "active": len(found.active()),
        "retired": len(found) - len(found.active()) - replaced,
        "replaced": replaced,
        **{f"{kind}": count for kind, count in zip(NAME_KINDS, kinds, strict=False)},
        "languages": [tag or "(none said)" for tag in found.languages],
        "broader": len(found.broader.targets),
        "related": len(found.related.targets) // 2,
        "notes": len(found.notes),
    }


def describe(found: Vocabulary, label: Label, language: str | None) -> str:
    """One label, as lines."""

    def named(ids: tuple[str, ...]) -> list[str]:
        return [_titled(found, number, language) for number in found.numbers(ids) if number is not None]

    number = found.number(label.id)
    lines = [_titled(found, 0 if number is None else number, language)]
    if label.state != "active":
        lines.append("    " + (f"replaced by {named((label.replaced_by,))[0]}" if label.replaced_by else "retired"))
    for what, by_language in (
        ("name", {tag: [name] for tag, name in label.names.items()}),
        ("also", label.alternative),
        ("hidden", label.hidden),
    ):
        lines += [f"    {what:8} {tag + ':' if tag else '':6} {', '.join(names)}" for tag, names in by_language.items()]
    if label.notation:
        lines.append(f"    notation {', '.join(label.notation)}")
    for what in ("broader", "narrower", "related"):
        some = named(getattr(label, what))
        if some:
            more = f" and {len(some) - SHOWN:,} more" if len(some) > SHOWN else ""
            lines.append(f"    {what:8} {'; '.join(some[:SHOWN])}{more}")
    lines += [f"    {note.kind:8} {note.language + ':' if note.language else ''} {note.text}" for note in label.notes]
    return "\n".join(lines)


def _labels(found: Vocabulary, name: str, k: int, language: str | None) -> list[Label]:
    exact = found.matches(name, language=language)
    some = [found[number] for number in exact] or found.search(name, k=k, language=language)
    if not some:
        raise InputError(f"the vocabulary has no label {name!r}{found.offer(name, language=language)}")
    return some


def _titled(found: Vocabulary, number: int, language: str | None) -> str:
    name, id = found.name_of(number, language), found.ids[number]
    return name if name == id else f"{name} ({id})"


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_told(some)}" for key, some in value.items()) or "–"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_told, value)) or "–"
    return f"{value:,}" if isinstance(value, int) else "–" if value is None else str(value)


def _more(count: int, most: int | None) -> None:
    if most is not None and count > most:
        show.result(f"    … {count - most:,} more")
