"""Label cells of tables: names with a separator between them, or a list as Python writes it (and so pandas)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ...core import DataError
from .options import Options

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ITEM = re.compile(_QUOTED, re.DOTALL)
_LIST = re.compile(rf"[\[({{]\s*(?:{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)*,?\s*)?[\])}}]", re.DOTALL)
_LISTLIKE = re.compile(r"""[\[({]\s*['"].*['"]\s*,?\s*[\])}]|\[\s*\]""", re.DOTALL)
_ENDS = {"[": "]", "(": ")", "{": "}"}


class Cells:
    """Splits label cells, and remembers whether the usual separator was the right one."""

    def __init__(self, column: str | None, options: Options, path: Path) -> None:
        self._path = path
        self._told = options.label_separator is not None
        self._separator = options.label_separator or (None if column == "label" else ";")
        self._used = self._bars = False

    def split(self, cell: str, line: int | None = None) -> list[str]:
        """The names in a cell."""
        if not self._told:
            if looks_like_list(cell):
                return self._listed(cell, line)
            if self._separator is not None:
                self._used = self._used or ";" in cell
                self._bars = self._bars or "|" in cell
        if self._separator is None:
            return [cell] if cell else []
        return [name.strip() for name in cell.split(self._separator)] if cell.strip() else []

    def _listed(self, cell: str, line: int | None) -> list[str]:
        cell = cell.strip()
        if _LIST.fullmatch(cell) and _ENDS[cell[0]] == cell[-1]:
            try:
                return [str(ast.literal_eval(quoted)) for quoted in _ITEM.findall(cell)]
            except (SyntaxError, ValueError):
                pass
        raise DataError(
            f"the label cell {cell!r:.80} looks like a list but is none: write names with ; between them, or a list "
            "such as ['one', 'two'], or say with label_separator what separates them",
            path=self._path,
            line=line,
        )

    def refuse_ambiguous(self) -> None:
        """To be asked when all rows are read."""
        if self._bars and not self._used:
            raise DataError(
                "no label cell contains ';' but some contain '|'; say which separates labels with label_separator",
                path=self._path,
            )


def looks_like_list(cell: str) -> bool:
    """True of what `split` takes for a list unless it is told a separator."""
    return cell.lstrip()[:1] in _ENDS and _LISTLIKE.fullmatch(cell.strip()) is not None
