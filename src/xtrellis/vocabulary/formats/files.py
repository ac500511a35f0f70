"""Which format a vocabulary file has, and reading and writing it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ...core import DataError, ParameterError, as_path, nearest, progress, shown, text
from ...data import reading, writing
from ..builder import Builder, Built
from .jsonld import json_ld
from .plain import read_csv, read_jsonl, read_tsv, write_csv, write_jsonl, write_tsv
from .rdfxml import RdfXml
from .skos import collect
from .turtle import Turtle

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

FORMATS = ("turtle", "nt", "xml", "json-ld", "tsv", "csv", "jsonl")
SUFFIXES = {
    ".ttl": "turtle", ".turtle": "turtle", ".nt": "nt", ".ntriples": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml",
    ".skos": "xml", ".jsonld": "json-ld", ".json": "json-ld", ".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}  # fmt: skip
COMPRESSED = (".gz", ".xz", ".zst")


def format_of(path: Path, given: str | None) -> str:
    """By what is given, or how the name ends."""
    text(or_none=True)("format", given)
    if given is not None:
        if given not in FORMATS:
            raise ParameterError(
                f"format must be one of {', '.join(FORMATS)}; got {shown(given)}{nearest(given, FORMATS)}"
            )
        return given
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    found = SUFFIXES.get(name.suffix.lower())
    if found is None:
        raise DataError(
            f"is no vocabulary that is known by its name, which should end in one of {', '.join(SUFFIXES)}; or give "
            f"format, one of {', '.join(FORMATS)}", path=path,
        )  # fmt: skip
    return found


def read_file(path: str | os.PathLike[str], format: str | None, *, strict: bool) -> Built:
    """The arrays of a vocabulary; what is wrong with it is noted, or refused if `strict`."""
    place = as_path(path, error=DataError)
    kind = format_of(place, format)
    if place.is_dir():
        raise DataError("is a folder, not a vocabulary file", path=place)
    size = place.stat().st_size if place.is_file() else None
    with (
        progress.step(f"reading {place.name}", total=size, unit="B") as advance,
        reading(place, advance) as file,
    ):
        builder = _collected(kind, file, place)
    if not builder.any_declared:
        raise DataError("has no labels", path=place)
    built = builder.build()
    if built.faults.n_errors:
        if strict:
            first = next(fault for fault in built.faults if fault.error)
            raise DataError(first.message, path=place)
        progress.note(
            f"{place}: {built.faults.summary()}; such as: {built.faults[0].message} "
            f"(xtrellis vocabulary check {place} lists them)"
        )
    return built


def _collected(kind: str, file: BinaryIO, place: Path) -> Builder:
    if kind in ("turtle", "nt"):
        return collect(Turtle(file, place), place)
    if kind == "xml":
        return collect(RdfXml(file, place), place)
    if kind == "json-ld":
        return collect(json_ld(file, place), place)
    return {"tsv": read_tsv, "csv": read_csv, "jsonl": read_jsonl}[kind](file, place)


def write_file(vocabulary: Vocabulary, path: str | os.PathLike[str], language: str | None) -> None:
    """As the name says; whole or not at all."""
    text(or_none=True)("language", language)
    place = as_path(path, error=DataError)
    kind = format_of(place, None)
    if kind not in ("jsonl", "tsv", "csv"):
        raise DataError("a vocabulary is written to .jsonl, .tsv or .csv", path=place)
    with writing(place) as file:
        if kind == "jsonl":
            write_jsonl(vocabulary, file)
        elif kind == "tsv":
            write_tsv(vocabulary, file, language)
        else:
            write_csv(vocabulary, file)
