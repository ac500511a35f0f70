"""Vocabularies without relations, as Annif has them (TSV and CSV), and JSON lines, which keep everything."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from ...core import DataError, InputError, shown
from ..builder import Builder
from ..label import NOTATION, PREFERRED, Label

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

_LABEL_COLUMN = re.compile(r"label_([A-Za-z0-9-]+)")
BOM = b"\xef\xbb\xbf"


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(file, 1):
        line = raw.removeprefix(BOM) if number == 1 else raw
        try:
            yield number, line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"expected UTF-8 text; byte 0x{line[error.start]:02x} is not", path=path, line=number
            ) from None


def read_tsv(file: BinaryIO, path: Path) -> Builder:
    """`<uri> TAB name`, and perhaps a notation; no header and no quotes."""
    builder = Builder()
    met: dict[str, int] = {}
    for number, line in _lines(file, path):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        id = _bare(cells[0])
        if not 2 <= len(cells) <= 3 or not id:
            raise DataError(
                f"expected <uri>, a tab, the label's name, perhaps a tab and its notation; got {line!r:.80}",
                path=path, line=number,
            )  # fmt: skip
        if id in met:
            raise DataError(f"{shown(id)} is on line {met[id]} already; ids must differ", path=path, line=number)
        met[id] = number
        label = builder.number(id)
        builder.declare(label)
        builder.name(label, PREFERRED, cells[1])
        if len(cells) > 2:
            builder.name(label, NOTATION, cells[2])
    return builder


def read_csv(file: BinaryIO, path: Path) -> Builder:
    """A header with `uri`, `label_en`, `label_fi`, … and perhaps `notation`; other columns are passed over."""
    where = [1]

    def numbered() -> Iterator[str]:
        for number, line in _lines(file, path):
            where[0] = number
            yield line + "\n"

    rows = csv.reader(numbered(), strict=True)
    builder: Builder = Builder()
    met: dict[str, int] = {}
    try:
        header = [cell.strip() for cell in next(rows, [])]
        languages = {i: found[1] for i, cell in enumerate(header) if (found := _LABEL_COLUMN.fullmatch(cell))}
        if "uri" not in header or not languages:
            raise DataError(
                f"expected a first line with the columns uri and label_en (or another language); got "
                f"{', '.join(header)!r:.80}", path=path, line=1,
            )  # fmt: skip
        at, notation = header.index("uri"), header.index("notation") if "notation" in header else None
        for cells in rows:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise DataError(f"expected {len(header)} columns; got {len(cells)}", path=path, line=where[0])
            id = _bare(cells[at].strip())
            if not id or id in met:
                why = f"{shown(id)} is on line {met[id]} already" if id else "the label has no uri"
                raise DataError(f"{why}; every label needs an id of its own", path=path, line=where[0])
            met[id] = where[0]
            label = builder.number(id)
            builder.declare(label)
            for i, language in languages.items():
                builder.name(label, PREFERRED, cells[i], language)
            if notation is not None:
                builder.name(label, NOTATION, cells[notation])
    except csv.Error as error:
        raise DataError(f"is not CSV: {error}", path=path, line=where[0]) from None
    return builder


def read_jsonl(file: BinaryIO, path: Path) -> Builder:
    """One object a label, as `Label.to_dict` has it."""
    builder = Builder()
    for number, line in _lines(file, path):
        if not line.strip():
            continue
        try:
            builder.add(Label.from_dict(json.loads(line)))
        except json.JSONDecodeError as error:
            raise DataError(f"is not JSON: {error.msg}", path=path, line=number) from None
        except (InputError, RecursionError) as error:
            raise DataError(str(error), path=path, line=number) from None
    return builder


def write_jsonl(vocabulary: Vocabulary, file: IO[bytes]) -> None:
    """Everything; narrower is left out, since it is broader the other way round."""
    for label in vocabulary:
        told = label.to_dict()
        told.pop("narrower", None)
        file.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def write_tsv(vocabulary: Vocabulary, file: IO[bytes], language: str | None) -> None:
    """As Annif reads it; without labels that are out of use."""
    for number in vocabulary.active().tolist():
        label = vocabulary[number]
        cells = [f"<{label.id}>", vocabulary.name_of(number, language), *label.notation[:1]]
        file.write("\t".join(" ".join(cell.split()) for cell in cells).encode("utf-8", "backslashreplace") + b"\n")


def write_csv(vocabulary: Vocabulary, file: IO[bytes]) -> None:
    """As Annif reads it: preferred names in all languages."""
    import io

    spoken = vocabulary.languages
    some = [tag for tag in spoken if tag] or ["und"]
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["uri", *(f"label_{tag}" for tag in some), "notation"])
    for number in vocabulary.active().tolist():
        label = vocabulary[number]
        names = {**dict.fromkeys(some, label.names.get("", "")), **label.names} if not any(
            label.names.get(tag) for tag in some) else label.names  # fmt: skip
        rows.writerow([label.id, *(names.get(tag, "") for tag in some), *(label.notation[:1] or [""])])
    file.write(text.getvalue().encode("utf-8", "backslashreplace"))


def _bare(uri: str) -> str:
    return uri[1:-1].strip() if uri.startswith("<") and uri.endswith(">") else uri
