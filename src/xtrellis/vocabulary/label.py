"""`Label`: one thing of a vocabulary, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core import InputError, clear_calls, shown

NAME_KINDS = ("preferred", "alternative", "hidden", "notation")
PREFERRED, ALTERNATIVE, HIDDEN, NOTATION = range(4)
STATES = ("active", "retired", "replaced")
NOTE_KINDS = ("note", "definition", "scope", "example", "history", "editorial", "change")


class Note(NamedTuple):
    """What somebody wrote about a label; `kind` is one of note, definition, scope, example, history, editorial,
    change, as in SKOS."""

    text: str
    kind: str = "note"
    language: str = ""


@clear_calls
@dataclass(frozen=True)
class Label:
    """A label: what it is called, what it is near to, whether it is in use. Labels are named by their ids.

    `names` has the preferred name by language ("" where none is said), `alternative` and `hidden` have lists by
    language. A hidden name is found, but never shown: a misspelling, say. A label that is `replaced` has the id of its
    successor in `replaced_by`.
    """

    id: str
    names: Mapping[str, str] = field(default_factory=dict)
    alternative: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hidden: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notation: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    state: str = "active"
    replaced_by: str | None = None
    notes: tuple[Note, ...] = ()

    def name(self, language: str | None = None) -> str:
        """The preferred name: in this language, or without a language, or in any; the id if there is none."""
        if language is not None and language in self.names:
            return self.names[language]
        return self.names.get("") or next(iter(self.names.values()), self.id)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, as a line of a vocabulary; what is empty is left out."""
        told: dict[str, Any] = {
            "id": self.id,
            "names": dict(self.names),
            "alternative": {language: list(names) for language, names in self.alternative.items()},
            "hidden": {language: list(names) for language, names in self.hidden.items()},
            **{name: list(getattr(self, name)) for name in ("notation", "broader", "narrower", "related")},
            "state": self.state if self.state != "active" and not self.replaced_by else None,
            "replaced_by": self.replaced_by,
            "notes": [getattr(note, "_asdict", lambda note=note: note)() for note in self.notes],
        }
        return {key: value for key, value in told.items() if value}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Label:
        """From such data. Names may also be one string, without a language; `name` is short for that."""
        if not isinstance(given, Mapping):
            raise InputError(f"a label must be an object with an id; got {shown(given)}")
        known = {*cls.__dataclass_fields__, "name"}
        unknown = next((key for key in given if key not in known), None)
        if unknown is not None:
            raise InputError(f"a label has no {shown(unknown)}; it has {', '.join(sorted(known))}")
        id = given.get("id")
        if not isinstance(id, str) or not id.strip():
            raise InputError(f"a label needs an id, a string; got {shown(id)}")
        if "name" in given and "names" in given:
            raise InputError(f"label {shown(id)}: give name or names, not both")
        replaced, state = given.get("replaced_by"), given.get("state") or "active"
        if replaced is not None and not isinstance(replaced, str):
            raise InputError(f"label {shown(id)}: replaced_by must be the id of a label; got {shown(replaced)}")
        if state not in STATES or (state == "replaced" and not replaced):
            raise InputError(
                f"label {shown(id)}: state must be active, retired, or replaced (with replaced_by); got {shown(state)}"
            )
        preferred = _by_language(id, "names", given.get("names", given.get("name")))
        for language, some in preferred.items():
            if len(some) > 1:
                raise InputError(
                    f"label {shown(id)} has two preferred names in language {language!r}, {shown(some[0])} and "
                    f"{shown(some[1])}: put one of them under alternative"
                )
        return cls(
            id=id,
            names={language: some[0] for language, some in preferred.items() if some},
            alternative=_by_language(id, "alternative", given.get("alternative")),
            hidden=_by_language(id, "hidden", given.get("hidden")),
            notation=_strings(id, "notation", given.get("notation")),
            broader=_strings(id, "broader", given.get("broader")),
            narrower=_strings(id, "narrower", given.get("narrower")),
            related=_strings(id, "related", given.get("related")),
            state="replaced" if replaced else state,
            replaced_by=replaced,
            notes=_notes(id, given.get("notes")),
        )


def _strings(id: str, what: str, given: Any) -> tuple[str, ...]:
    some = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(some, (list, tuple)) or not all(isinstance(one, str) for one in some):
        raise InputError(f"label {shown(id)}: {what} must be a list of strings; got {shown(given)}")
    return tuple(some)


def _by_language(id: str, what: str, given: Any) -> dict[str, tuple[str, ...]]:
    """Names by language, from an object, a list, or one string."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {"": _strings(id, what, given)}
    if not all(isinstance(language, str) for language in given):
        raise InputError(f"label {shown(id)}: {what} must be names by language; got {shown(given)}")
    return {language.lower(): _strings(id, what, some) for language, some in given.items()}


def _notes(id: str, given: Any) -> tuple[Note, ...]:
    some = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(some, (list, tuple)):
        raise InputError(f"label {shown(id)}: notes must be a list; got {shown(given)}")
    out = []
    for one in some:
        said = {"text": one} if isinstance(one, str) else one._asdict() if isinstance(one, Note) else one
        fits = isinstance(said, Mapping) and set(said) <= set(Note._fields) and "text" in said
        if not fits or not all(isinstance(value, str) for value in said.values()):
            raise InputError(f"label {shown(id)}: a note must have a text, a kind and a language; got {shown(one)}")
        if said.get("kind", "note") not in NOTE_KINDS:
            raise InputError(
                f"label {shown(id)}: a note's kind must be one of {', '.join(NOTE_KINDS)}; got {shown(said['kind'])}"
            )
        out.append(Note(**said))
    return tuple(out)
