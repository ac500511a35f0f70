"""One class, function, constant or module as Markdown: what its docstring and its declarations say, nothing else."""

from __future__ import annotations

import dataclasses
import html
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from xtrellis.core import Check, Configured, choice, flag, part, text

from .prose import cell, docstring, field_comments, inline, markdown, sentence

Link = Callable[[str], str]  # a code span to itself, or to a link to what it names
WIDTH = 96  # of a signature in one line
COUNTS = {"fit": "fit", "search": "search", "fit+search": "fit, search", "machine": "machine"}
PLAIN = (flag, text, part)  # their types say it all


def parameters(cls: type[Configured]) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, type, default, meaning and when it counts, of every declared parameter."""
    for name, declared in cls._params.items():
        meaning = sentence(declared.doc) + _allowed(declared.check)
        yield name, cls._annotation(name), brief(declared.default), meaning, COUNTS[declared.role]


def _allowed(check: Check) -> str:
    """What a value must be, where the type does not say it."""
    none = " or None" if check.or_none else ""
    if isinstance(check, choice):
        return " One of " + ", ".join(f"`{option!r}`" for option in check.options) + none + "."
    if isinstance(check, PLAIN):
        return ""
    return f" Must be {check.requirement}{none}."


def brief(value: Any) -> str:
    """`repr`, but of an object that has none."""
    told = repr(value)
    if told == "<factory>":  # of a dataclass
        return "…"
    return f"{type(value).__name__}(…)" if told.startswith("<") else told


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)])


def signature(name: str, obj: Any) -> str:
    """A call as a block of code, one argument a line if it is long."""
    try:
        found = inspect.signature(obj)
    except (TypeError, ValueError):
        return ""
    given, only = [], False
    for argument in found.parameters.values():
        if argument.name in ("self", "cls"):
            continue
        if argument.kind is argument.KEYWORD_ONLY and not only:
            given.append("*")
            only = True
        only = only or argument.kind is argument.VAR_POSITIONAL
        given.append(_argument(argument))
    silent = found.return_annotation is found.empty or inspect.isclass(obj)
    answer = "" if silent else f" -> {_type(found.return_annotation)}"
    line = f"{name}({', '.join(given)}){answer}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {argument},\n" for argument in given) + f"){answer}"
    return f"```python\n{line}\n```"


def _argument(argument: inspect.Parameter) -> str:
    stars = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "")
    typed = "" if argument.annotation is argument.empty else f": {_type(argument.annotation)}"
    equals = " = " if typed else "="
    default = "" if argument.default is argument.empty else equals + brief(argument.default)
    return stars + argument.name + typed + default


def _type(annotation: Any) -> str:
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        annotation = inspect.formatannotation(annotation)
    return annotation.strip("'\"")


@dataclasses.dataclass(frozen=True)
class Entry:
    """Something that has a place in the reference: `name` as users write it, `where` they import it from."""

    name: str
    obj: Any
    where: str = ""
    said: str = ""  # of constants, which have no docstring

    @property
    def short(self) -> str:
        """Without the module."""
        return self.name.rpartition(".")[2]

    @property
    def anchor(self) -> str:
        """Within its page: as Markdown makes it of the heading."""
        return re.sub(r"[^\w-]", "", self.name).lower()

    @property
    def text(self) -> str:
        """What is said of it."""
        return self.said or docstring(self.obj)

    @property
    def summary(self) -> str:
        """The first sentence, roughly."""
        first = self.text.partition("\n\n")[0].replace("\n", " ")
        return re.split(r"(?<=\.) (?=[A-Z`])", first)[0]

    @cached_property
    def members(self) -> dict[str, tuple[type, Any]]:
        """Public methods and properties of a class by name, with the class that defines each."""
        found: dict[str, tuple[type, Any]] = {}
        for cls in self.obj.__mro__:
            if not cls.__module__.startswith("xtrellis"):
                continue
            for name, value in vars(cls).items():
                if not name.startswith("_") and name not in found and _is_member(value):
                    found[name] = (cls, value)
        return found


def _is_member(value: Any) -> bool:
    unwrapped = getattr(value, "__func__", value)
    return inspect.isfunction(unwrapped) or isinstance(value, property) or hasattr(value, "attrname")


class Writer:
    """Entries as Markdown. `described` are the classes that have a place of their own: theirs is not said again."""

    def __init__(self, link: Link, described: dict[type, Entry]) -> None:
        self.link, self.described = link, described

    def write(self, entry: Entry) -> str:
        """Heading, text, and what belongs to it."""
        parts = [heading(3, entry.anchor, entry.name), *self._origin(entry)]
        if inspect.isclass(entry.obj):
            parts += self._class(entry)
        else:
            if inspect.isfunction(entry.obj):
                parts.append(signature(entry.short, entry.obj))
            parts.append(markdown(entry.text, self.link))
            if isinstance(entry.obj, (tuple, list)):
                parts.append(", ".join(f"`{value}`" for value in entry.obj))
        return "\n\n".join(part for part in parts if part)

    def _origin(self, entry: Entry) -> list[str]:
        return [f"From `{entry.where}`."] if entry.where else []

    def _class(self, entry: Entry) -> Iterator[str]:
        cls = entry.obj
        bases = [base.__name__ for base in cls.__bases__ if base.__name__ not in ("object", "Protocol", "ABC", "tuple")]
        configured = issubclass(cls, Configured)
        if bases:
            yield "A kind of " + " and ".join(self.link(f"`{base}`") for base in bases) + "."
        made = "__init__" in _own_names(cls) or hasattr(cls, "_fields")
        if made and not configured and not getattr(cls, "_is_protocol", False):
            yield signature(entry.short, cls)
        yield markdown(entry.text, self.link)
        if configured and cls._params:
            head = ("Parameter", "Type", "Default", "Meaning", "[Counts in](index.md#when-a-parameter-counts)")
            yield table(
                head,
                [
                    (f"`{name}`", f"`{kind}`", f"`{default}`", inline(meaning, self.link), counts)
                    for name, kind, default, meaning, counts in parameters(cls)
                ],
            )
        rows = [
            (f"`{name}`", inline(said, self.link))  # as it stands: many go on from the name
            for name, said in field_comments(cls).items()
            if not name.startswith("_") and not (configured and name in cls._params)
        ]
        if rows:
            yield table(("Field", "Meaning"), rows)
        yield from self._members(entry)

    def _members(self, entry: Entry) -> Iterator[str]:
        elsewhere: dict[type, list[str]] = {}
        here: list[tuple[str, Any]] = []
        for name, (owner, value) in entry.members.items():
            home = self._home(entry, owner, name)
            if home is None:
                here.append((name, value))
            else:
                elsewhere.setdefault(home, []).append(name)
        # Properties first: what it is, then what it does.
        for name, value in sorted(here, key=lambda item: not _is_property(item[1])):
            yield heading(4, f"{entry.anchor}.{name}", name, kind=_kind(value))
            if not _is_property(value):
                yield signature(name, getattr(value, "__func__", value))
            yield markdown(_member_text(entry.obj, name), self.link)
        for home, names in elsewhere.items():
            told = ", ".join(self.link(f"`{home.__name__}.{name}`") for name in names)
            yield f"Inherited from {self.link(f'`{home.__name__}`')}: {told.replace(f'`{home.__name__}.', '`')}."

    def _home(self, entry: Entry, owner: type, name: str) -> type | None:
        """The class at whose place a member is described, if that is not here."""
        storing = next((cls for cls in self.described if cls.__name__ == "Storable"), None)
        if storing is not None and entry.obj is not storing and name in vars(storing) and issubclass(owner, storing):
            return storing  # how a class gets to disk is of interest to none but those who write one
        return owner if owner is not entry.obj and owner in self.described else None


def _own_names(cls: type) -> set[str]:
    return {name for base in cls.__mro__ if base.__module__.startswith("xtrellis") for name in vars(base)}


def _is_property(value: Any) -> bool:
    return isinstance(value, property) or hasattr(value, "attrname")


def _kind(value: Any) -> str:
    """What a member is, if not a plain method."""
    if _is_property(value):
        return "property"
    return "class method" if isinstance(value, classmethod) else ""


def _member_text(cls: type, name: str) -> str:
    for base in cls.__mro__:
        value = vars(base).get(name)
        told = docstring(getattr(value, "__func__", value)) if value is not None else ""
        if told:
            return told
    return ""


def heading(level: int, anchor: str, name: str, *, kind: str = "") -> str:
    """A heading whose anchor is the name itself; entries are in the table of contents, members are not."""
    if level == 3:
        return f"### {name}"
    told = f' <span class="member-kind">{kind}</span>' if kind else ""
    return f'<h{level} id="{html.escape(anchor)}"><code>{html.escape(name)}</code>{told}</h{level}>'
