"""Label cells of tables: names with a separator between them, or a list as Python writes it (and so pandas)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ....core import DataError, progress
from ..options import Options
from .separators import ONE, SEVERAL, judge

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ITEM = re.compile(_QUOTED, re.DOTALL)
_LIST = re.compile(rf"[\[({{]\s*(?:{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)*,?\s*)?[\])}}]", re.DOTALL)
_LISTLIKE = re.compile(r"""[\[({]\s*['"].*['"]\s*,?\s*[\])}]|\[\s*\]""", re.DOTALL)
_ENDS = {"[": "]", "(": ")", "{": "}"}


class Cells:
    """Splits label cells, and settles in the end whether something else than the usual separator was meant."""

    def __init__(self, column: str | None, options: Options, path: Path, *, usual: str | None = ";") -> None:
        """`usual` separates labels unless told otherwise; None where a string is one name, as in JSON."""
        self._path = path
        self._told = options.label_separator is not None
        self._single = column == "label"
        self._separator = options.label_separator or (None if self._single else usual)
        self._usual = usual
        self._used = False
        self.loose = False
        """Of the last cell: its names may still hold a separator that nobody has told of."""

    def split(self, cell: str, line: int | None = None) -> list[str]:
        """The names in a cell."""
        self.loose = not self._told
        if not self._told:
            if looks_like_list(cell):
                self.loose = False
                return self._listed(cell, line)
            self._used = self._used or (self._separator is not None and self._separator in cell)
        if self._separator is None:
            return [cell] if cell.strip() else []
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

    def settle(self, names: Mapping[str, int], others: Iterable[str]) -> str | None:
        """To be asked when all rows are read: what separates the loose `names` (with their numbers of rows), if
        anything does. `others` are names that came in lists. Refuses what cannot be told."""
        if self._told:
            return None
        if self._single:
            self._tell_single(names, others)
            return None
        candidates = [sign for sign in (";", "|", ",") if sign != self._separator]
        found = {sign: sum(names[name] for name in names if sign in name) for sign in candidates}
        if self._usual is not None and found.get("|") and not self._used:
            raise DataError(
                "no label cell contains ';' but some contain '|'; say which separates labels with label_separator",
                path=self._path,
            )
        for sign, cells in found.items():
            if not cells:
                continue
            verdict = judge(names, sign, others)
            if self._used:
                self._with_usual(sign, cells, verdict)
            elif verdict == SEVERAL:
                self._note(
                    f"labels are taken as separated by {sign!r}, which {cells:,} label cells contain: their parts are "
                    f"labels in other cells too (label_separator={self._other(sign)!r} leaves names whole)"
                )
                return sign
            elif verdict == ONE:
                self._note(
                    f"{cells:,} label cells contain {sign!r}, which is taken as a part of the names "
                    f"(label_separator={sign!r} splits them)"
                )
            else:
                raise DataError(
                    f"{cells:,} label cells contain {sign!r}, and it is not clear whether it separates labels; say "
                    f"label_separator={sign!r} if it does, label_separator={self._other(sign)!r} if it does not",
                    path=self._path,
                )
        if not self._used and judge(names, " ", others) == SEVERAL:  # names often have blanks: nothing is split there
            self._note("labels look like several with blanks between them (label_separator=' ' splits them)")
        return None

    def _with_usual(self, sign: str, cells: int, verdict: str) -> None:
        """Labels are separated as usual, and some names have another sign in them."""
        if verdict == SEVERAL:
            raise DataError(
                f"some label cells are separated by {self._separator!r}, and in {cells:,} others {sign!r} seems to "
                "separate; write all of them alike, or say which separates with label_separator",
                path=self._path,
            )
        if sign == "|":
            self._note(
                f"{cells:,} labels contain '|', which is taken as a part of the names, since {self._separator!r} "
                "separates them (label_separator='|' splits there instead)"
            )

    def _tell_single(self, names: Mapping[str, int], others: Iterable[str]) -> None:
        for sign in (";", "|", ","):
            cells = sum(names[name] for name in names if sign in name)
            if cells and judge(names, sign, others) == SEVERAL:
                self._note(
                    f"a 'label' is one name, but {cells:,} of them look like several with {sign!r} between "
                    f"(label_separator={sign!r} splits them)"
                )

    def _other(self, sign: str) -> str:
        return ";" if sign != ";" else "|"

    def _note(self, message: str) -> None:
        progress.note(f"{self._path.name}: {message}")


def looks_like_list(cell: str) -> bool:
    """True of what `split` takes for a list unless it is told a separator."""
    return cell.lstrip()[:1] in _ENDS and _LISTLIKE.fullmatch(cell.strip()) is not None
