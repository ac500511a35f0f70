"""Annif's corpora: short texts as TSV, full texts as a folder of files.

TSV has no header and no quotes: `text <TAB> <uri> <uri> …`, and perhaps more columns, which are not looked at. In a
folder, `a.txt` is a text, and beside it `a.tsv` has a line `<uri> <TAB> name` for each subject, or `a.key` a line with
the name of each. URIs are taken without their brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ...core import DataError, progress
from ..dataset import Dataset
from .files import decode, reading, without_bom
from .labelled import Collector, read_lines
from .options import Options
from .tidy import BadRows

_URIS = re.compile(rb"<[^<>\s]+>(?:\s+<[^<>\s]+>)*")
SUBJECTS = (".tsv", ".key")


def tsv_format(head: bytes) -> str:
    """`annif-tsv` if one of the first lines has URIs in brackets behind a tab, and no names of columns begin; else
    `tsv`. (A text may have no subject yet.)"""
    lines = [line.rstrip(b"\r").split(b"\t") for line in without_bom(head).split(b"\n")]
    if not _URIS.fullmatch(lines[0][1].strip() if len(lines[0]) > 1 else b"") and b"text" in lines[0]:
        return "tsv"
    return "annif-tsv" if any(len(cells) > 1 and _URIS.fullmatch(cells[1].strip()) for cells in lines) else "tsv"


def is_corpus(folder: Path) -> bool:
    """True of a folder in which a text has a file of subjects beside it."""
    return any(path.with_suffix(end).is_file() for path in folder.glob("*.txt") for end in SUBJECTS)


def read_annif_tsv(path: Path, options: Options) -> Dataset:
    """A line a text."""

    def row(content: str, number: int) -> tuple[str, list[str]]:
        text, tab, rest = content.partition("\t")
        if not tab and not options.unlabelled:
            raise DataError("expected a text, a tab and <uri> <uri> …; there is no tab", path=path, line=number)
        return text, [_bare(uri) for uri in rest.partition("\t")[0].split()]

    return read_lines(path, options, row)


def read_annif_folder(path: Path, options: Options) -> Dataset:
    """A file a text; texts without a file of subjects are left out, and told of."""
    collector, bad = Collector(path, options.labels, options.texts_to), BadRows(options.skip_bad_rows)
    texts = sorted(path.glob("*.txt"))
    alone = 0
    with progress.step(f"reading {path.name}", total=len(texts), unit="texts") as advance:
        for file in texts:
            try:
                labels = [] if options.unlabelled else _subjects(file, options.encoding)
                alone += labels is None
                if labels is not None:
                    collector.add(document(file, options.encoding), labels, None, place=f"{file.name}: ")
            except DataError as error:
                bad.met(error)
            advance(1)
    bad.tell(path.name)
    if alone:
        progress.note(f"{path}: {alone:,} texts have no .tsv or .key beside them and were left out")
    return collector.finish(path.name)


def documents(folder: Path) -> Iterator[tuple[str, str]]:
    """(name, text) of every text of a folder."""
    for file in sorted(folder.glob("*.txt")):
        yield file.name, document(file)


def document(file: Path, encoding: str | None = None) -> str:
    """The text of a file."""
    with reading(file, encoding=encoding) as opened:
        return decode(without_bom(opened.read()), file, None)


def _subjects(file: Path, encoding: str | None) -> list[str] | None:
    for end in SUBJECTS:
        beside = file.with_suffix(end)
        if beside.is_file():
            lines = [line for line in document(beside, encoding).splitlines() if line.strip()]
            return [_bare(line.partition("\t")[0].strip()) if end == ".tsv" else line.strip() for line in lines]
    return None


def _bare(uri: str) -> str:
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
