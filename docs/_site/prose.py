"""Docstrings and comments as Markdown."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

PARAMETERS = "\n\nParameters\n----------\n"  # what `Configured` adds to a docstring; a table says it here
_ARGUMENT = re.compile(r"([a-z_]\w*(?:, [a-z_]\w*)*): ")
_WORD = re.compile(r"a |[a-z]{2,}(?:'s)?[ ,.;:)-]|[a-z]{2,}$")
_CODE = re.compile(r"(`[^`]*`)")


def docstring(obj: Any) -> str:
    """The text of a docstring; a method without one has that of the method it overrides."""
    return (inspect.getdoc(obj) or "").partition(PARAMETERS)[0].strip()


def markdown(text: str, link: Callable[[str], str] = lambda code: code) -> str:
    """A docstring as Markdown: `name: meaning` lines become a list, `<` stays a `<`; code spans go through `link`."""
    blocks = []
    for block in text.strip().split("\n\n"):
        if block.startswith("    "):  # an example
            blocks.append(block)
            continue
        lines = block.splitlines()
        if len(lines) > 1 and all(_ARGUMENT.match(line) or line.startswith("    ") for line in lines):
            block = "\n".join(_ARGUMENT.sub(_item, line, count=1) for line in lines)
        blocks.append(inline(block, link))
    return "\n\n".join(blocks)


def _item(found: re.Match[str]) -> str:
    return "- " + ", ".join(f"`{name}`" for name in found[1].split(", ")) + ": "


def inline(text: str, link: Callable[[str], str] = lambda code: code) -> str:
    """One paragraph: what Markdown would take for HTML or emphasis is meant as it stands."""
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = link(part)
        else:
            parts[i] = re.sub(r"\*(?=\S)", r"\\*", part.replace("<", "&lt;"))
    return "".join(parts)


def cell(text: str) -> str:
    """One cell of a table: one line, no bars outside code."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(part if i % 2 else part.replace("|", "\\|") for i, part in enumerate(parts))


def sentence(text: str) -> str:
    """With a full stop and, if it begins with a word and not with a symbol such as n×d, a capital letter."""
    text = text.strip()
    text = text[:1].upper() + text[1:] if _WORD.match(text) else text
    return text if text.endswith((".", "!", "?", ":", "…")) else f"{text}."


@cache
def _source(module: ModuleType) -> tuple[list[str], ast.Module]:
    text = inspect.getsource(module)
    return text.splitlines(), ast.parse(text)


def comment_of(module: ModuleType, name: str) -> str:
    """What a comment says of a module's constant: behind it, or in the lines above it."""
    lines, tree = _source(module)
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return _comment(lines, node)
    return ""


def field_comments(cls: type) -> dict[str, str]:
    """What the source says of the fields of a class: a string below a field, a comment behind or above it."""
    lines, tree = _source(inspect.getmodule(cls))  # type: ignore[arg-type]
    body = next(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == cls.__name__)
    found = {}
    for node, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        below = following.value if isinstance(following, ast.Expr) else None
        said = below.value if isinstance(below, ast.Constant) and isinstance(below.value, str) else ""
        said = said or _comment(lines, node)
        if said:
            found[node.target.id] = said
    return found


def _comment(lines: list[str], node: ast.stmt) -> str:
    behind = lines[node.end_lineno - 1][node.end_col_offset :].strip()  # type: ignore[operator]
    if behind.startswith("#"):
        return behind.lstrip("# ").partition(" # noqa")[0]
    above = []
    for line in reversed(lines[: node.lineno - 1]):
        if not line.strip().startswith("# "):
            break
        above.append(line.strip()[2:])
    return " ".join(reversed(above))
