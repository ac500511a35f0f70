"""The page of the `xtrellis` program: every command with its arguments and options, from their declarations."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.models import ArgumentInfo, OptionInfo

import xtrellis.cli.app as program
from xtrellis.cli.files import READ_OPTIONS

from .describe import table
from .prose import markdown, sentence

KINDS = {int: "integer", float: "number", str: "text", Path: "path"}


@dataclass(frozen=True)
class Argument:
    """One argument or option of a command."""

    names: tuple[str, ...]  # as typed; of an argument, its metavar
    takes: str  # what follows the name; empty for a switch
    default: str
    meaning: str
    is_option: bool


@dataclass(frozen=True)
class Command:
    """One command of the program."""

    name: str
    text: str
    arguments: tuple[Argument, ...]

    @property
    def usage(self) -> str:
        """What is typed."""
        required = [a for a in self.arguments if a.default == "required"]
        given = [a.names[0] if not a.is_option else f"{a.names[0]} {a.takes}" for a in required]
        optional = [a.names[0] for a in self.arguments if not a.is_option and a not in required]
        return " ".join(["xtrellis", self.name, *given, *optional, "[OPTIONS]"])


def commands() -> list[Command]:
    """Every command, in the order of `xtrellis --help`."""
    group: Any = typer.main.get_command(program.app)
    found = [
        (f"{name} {inner}", below) if inner else (name, command)
        for name, command in group.commands.items()
        for inner, below in (getattr(command, "commands", None) or {"": command}).items()
    ]
    return [Command(name, command.help, tuple(_arguments(command))) for name, command in found]


def _arguments(command: Any) -> Iterator[Argument]:
    """What the program understands, as typer made it of the function; what a value must be, from the annotations."""
    hints = typing.get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    for made in command.params:
        hint = hints[made.name]
        info = next(found for found in hint.__metadata__ if isinstance(found, (ArgumentInfo, OptionInfo)))
        yield _argument(made, hint.__origin__, info)


def _argument(made: Any, hint: Any, info: ArgumentInfo | OptionInfo) -> Argument:
    is_option = isinstance(info, OptionInfo)
    kind, repeatable = _kind(hint)
    flag = kind is bool
    metavar = (info.metavar or KINDS.get(kind, kind.__name__).upper()).strip("[]")
    if made.required:
        default = "required"
    elif flag and made.default is not None:
        default = "on" if made.default else "off"
    else:
        default = "none" if made.default is None else f"`{made.default}`"
    meaning = sentence(info.help or "") + _bounds(info)
    if repeatable and "repeatable" not in meaning:
        meaning += " Repeatable."
    name = metavar if made.required else f"[{metavar}]"
    names = (*made.opts, *made.secondary_opts) if is_option else (name,)
    return Argument(names, "" if flag else metavar, default, meaning, is_option)


def _bounds(info: Any) -> str:
    limits = [f"{word} {bound}" for word, bound in (("at least", info.min), ("at most", info.max)) if bound is not None]
    return f" {sentence(', '.join(limits))}" if limits else ""


def _kind(hint: Any) -> tuple[type, bool]:
    """The type behind `int | None` or `list[str] | None`, and whether there may be several."""
    inner = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    if typing.get_origin(hint) is list:
        return inner[0], True
    return _kind(inner[0]) if inner else (hint, False)


def page(read: str) -> str:
    """The whole page; `read` is where `xt.read` is described."""
    intro = inspect.getdoc(program) or ""
    parts = ["# Commands", "The program is called `xtrellis`; `xtrellis COMMAND --help` shows the same as this page."]
    found = re.search(r"Exit codes: .*", intro, re.DOTALL)
    if found:
        parts.append(markdown(found[0]))
    for command in commands():
        parts += [f"## {command.name}", markdown(command.text), f"```sh\n{command.usage}\n```"]
        for kind, is_option in (("Argument", False), ("Option", True)):
            rows = [_row(argument) for argument in command.arguments if argument.is_option is is_option]
            if rows:
                parts.append(table((kind, "Default", "Meaning"), rows))
    parts += ["## Keys of --read", f"What `--read KEY=VALUE` takes; each is an argument of [`xt.read`]({read})."]
    parts.append(table(("Key", "Value"), [(f"`{key}`", sentence(c.requirement)) for key, c in READ_OPTIONS.items()]))
    return "\n\n".join(parts)


def _row(argument: Argument) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in argument.names)
    takes = f" `{argument.takes}`" if argument.is_option and argument.takes else ""
    return names + takes, argument.default, markdown(argument.meaning)
