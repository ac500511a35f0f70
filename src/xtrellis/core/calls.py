"""Calls that Python itself would refuse, an unknown name or one argument too many, are refused in words, with the cure.

    @clear_calls
    def read(path, *, text_column=None): ...

    read("a.csv", txt_column="body")    # CallError: read has no argument 'txt_column'; did you mean 'text_column'?

Above a class it means the public methods and the constructor. Whatever derives from `Configured` has it by itself. A
call that is right costs less than a microsecond: arguments are looked at only after Python has refused them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import CallError, shown
from .hints import meant

T = TypeVar("T", bound=Callable[..., Any])
_BOUND = ("self", "cls")
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def clear_calls(target: T) -> T:
    """A function, or a class with all its public methods, whose wrong calls are told in words."""
    if not isinstance(target, type):
        return _clear(target)
    for name, value in list(vars(target).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(value, (classmethod, staticmethod)):
            setattr(target, name, type(value)(_clear(value.__func__)))
        elif inspect.isfunction(value):
            setattr(target, name, _clear(value))
    return target


def _clear(function: T) -> T:
    if hasattr(function, "_clear"):
        return function

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except TypeError:
            wrong = _wrong(function, args, named)
            if wrong is None:  # the call was right; the fault is further in
                raise
        raise CallError(wrong)

    call._clear = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def _wrong(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """What is wrong with such a call; None if nothing is."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **named)
        return None
    except TypeError:
        pass
    known = list(signature.parameters.values())
    name, bound = _name_of(function, args)
    known, given = (known[1:], args[1:]) if bound else (known, args)
    names = [p.name for p in known if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    by_place = [p.name for p in known if p.kind in _BY_PLACE]
    unknown = [] if any(p.kind is p.VAR_KEYWORD for p in known) else [n for n in named if n not in names]
    if unknown:
        return f"{name} has no argument {shown(unknown[0])}{meant(unknown[0], names)}"
    if len(given) > len(by_place):
        takes = f"takes {', '.join(by_place)} by place" if by_place else "takes nothing by place"
        others = [n for n in names if n not in by_place and n not in named]
        cure = f", and what else there is by name, such as {others[0]}=…" if others else " and nothing else"
        return f"{name} {takes}{cure}; got {len(given)} by place, the last {shown(given[-1])}"
    twice = [n for n in by_place[: len(given)] if n in named]
    if twice:
        return f"{name} got {twice[0]} twice: {shown(given[by_place.index(twice[0])])} and {shown(named[twice[0]])}"
    lacking = [p.name for p in known[len(given) :] if p.name in names and p.default is p.empty and p.name not in named]
    needed = [p.name for p in known if p.name in names and p.default is p.empty]
    return f"{name} needs {' and '.join(lacking)}: {name}({', '.join(f'{n}=…' for n in needed)})"


def _name_of(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, bool]:
    """As it is called, `read`, `Tagger.tag`, `Dataset`, and whether its first argument is the object or the class."""
    *_, owner, name = ("", *function.__qualname__.split("."))
    if not owner or owner == "<locals>" or next(iter(inspect.signature(function).parameters), "") not in _BOUND:
        return name, False
    if args:  # of an inherited method, not the class that has it but that of the object
        owner = (args[0] if isinstance(args[0], type) else type(args[0])).__name__
    return owner if name == "__init__" else f"{owner}.{name}", True
