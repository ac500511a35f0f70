"""A docstring as paragraphs of prose, and the objects its "See Also" section points to.

Numpydoc sections are known by their underlined titles: entries of "Parameters" and its kin are paragraphs of their
own, examples keep their prose and lose their code, references are left out. Anything else is cut at blank lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MIN_WORDS = 5
MAX_LENGTH = 4_000  # letters; what is longer is a listing
MIN_WORDS_FIRST = 2  # "Absolute value." is a good summary and a poor paragraph

_UNDERLINE = re.compile(r"([-=~^*#\"'])\1{2,}\s*$")
_SIGNATURE = re.compile(r"[\w.]+\([^)]*(\([^)]*\)[^)]*)*\)(\s*->\s*.*)?$|class [\w.]+\(.*\)$")
_DIRECTIVE = re.compile(r"\.\. ([\w-]+::|\[|_)")
_ROLE = re.compile(r":[\w:+-]+:`~?([^`<]+?)(\s*<[^>]*>)?`")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_ENTRIES = {"parameters", "returns", "yields", "attributes", "methods", "raises", "warns", "other parameters"}
_LEFT_OUT = {"references", "see also", "bibliography"}


@dataclass
class Prose:
    """What a docstring says: its paragraphs in order, and the names under "See Also"."""

    paragraphs: list[str] = field(default_factory=list)
    see_also: list[str] = field(default_factory=list)


def read(doc: str) -> Prose:
    """Take a cleaned docstring apart."""
    out = Prose()
    for title, lines in _sections(doc.expandtabs().splitlines()):
        if title == "see also":
            out.see_also += _targets(lines)
        if title in _LEFT_OUT:
            continue
        for block in _entries(lines) if title in _ENTRIES else _blocks(lines):
            text = _text(block)
            if len(text) <= MAX_LENGTH and len(_WORD.findall(text)) >= (
                MIN_WORDS if out.paragraphs else MIN_WORDS_FIRST
            ):
                out.paragraphs.append(text)
    return out


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    title, start, i = "", 0, 0
    while i + 1 < len(lines):
        if lines[i].strip() and _UNDERLINE.match(lines[i + 1].strip()) and not _UNDERLINE.match(lines[i].strip()):
            yield title, lines[start:i]
            title, start = lines[i].strip().rstrip(":").lower(), i + 2
            i += 1
        i += 1
    yield title, lines[start:]


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """`name : type` with an indented description below it; a description's own paragraphs stay with it."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    entry: list[str] = []
    for line in lines:
        if line.strip() and _indent(line) == indent and entry:
            yield entry
            entry = []
        if line.strip():
            entry.append(line)
    if entry:
        yield entry


def _text(block: list[str]) -> str:
    """One line of prose; empty if the block is code, a signature, a table or markup for machines."""
    while block and _SIGNATURE.fullmatch(block[0].strip()):
        block = block[1:]
    if not block or _DIRECTIVE.match(block[0].strip()):
        return ""
    for i, line in enumerate(block):  # prose may run into code; what follows a prompt is code or its output
        if line.lstrip().startswith((">>>", "$ ", "In [")):
            block = block[:i]
            break
    text = " ".join(line.strip() for line in block if not _UNDERLINE.match(line.strip()))
    text = _ADDRESS.sub("", _ROLE.sub(r"\1", text)).replace("`", "")
    return " ".join(text.split())


def _targets(lines: list[str]) -> list[str]:
    """`a, b : what they do`, possibly with roles and continuation lines."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    found: list[str] = []
    for line in lines:
        if not line.strip() or _indent(line) > indent:
            continue
        heads = _ROLE.sub(r"\1", line).replace("`", "").split(" : ")[0].rstrip(" :")
        for head in heads.split(","):
            name = head.strip().removesuffix("()").rstrip(".")
            if re.fullmatch(r"[A-Za-z_][\w.]*", name):
                found.append(name)
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
