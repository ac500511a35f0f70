"""Predictions as `xtrellis predict` writes them, read again: JSON lines with names, XMC score files, npz matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import StringTable, TopK
from ...core import DataError, InputError, as_path, clear_calls
from .files import decode, plain_name, reading, without_bom
from .jsonl import parse_row
from .npz import load_matrix


@clear_calls
def read_predictions(
    path: str | Path, label_names: StringTable | None = None, *, n_labels: int | None = None
) -> tuple[TopK, StringTable | None]:
    """The predictions of each row, in their order, and the names of the labels they are numbered by.

    JSON lines (`.jsonl`) name labels, by their `ids` where they have such: those that are not among `label_names` are
    numbered after them. The others (`.txt`, `.npz`) have numbers, of the labels in the order of `label_names`, or of
    `n_labels` without names.
    """
    place = as_path(path, error=DataError)
    suffix = Path(plain_name(place)).suffix.lower()
    if suffix == ".npz":
        rows, found = _npz(place)
    elif suffix in (".jsonl", ".ndjson"):
        names, ids = list(label_names or []), {name: i for i, name in enumerate(label_names or [])}
        rows = _jsonl(place, names, ids)
        return _top(rows, len(names)), StringTable.of(names)
    elif suffix == ".txt":
        rows, found = _xmc(place)
    else:
        raise DataError("predictions end in .jsonl, .txt or .npz", path=place)
    wanted = len(label_names) if label_names is not None else n_labels
    if wanted is not None and found != wanted:
        raise InputError(f"{place} is of {found:,} labels by number; {wanted:,} are known: give the model they are of")
    return _top(rows, found), label_names


Row = list[tuple[int, float]]


def _jsonl(path: Path, names: list[str], ids: dict[str, int]) -> list[Row]:
    out = []
    with reading(path) as file:
        for number, line in enumerate(file, 1):
            content = without_bom(line) if number == 1 else line
            if not content.strip():
                continue
            row = parse_row(content, path, number)
            labels: Any
            scores: Any
            tags = row.get("tags")
            if isinstance(tags, list):  # what `xtrellis tag --json` writes
                found = [tag if isinstance(tag, dict) else {} for tag in tags]
                labels = [tag.get("id", tag.get("label")) for tag in found]
                scores = [tag.get("score") for tag in found]
            else:
                labels, scores = row.get("ids", row.get("labels")), row.get("scores")
            if scores is None and isinstance(labels, list):
                scores = [1.0] * len(labels)
            if (
                not isinstance(labels, list)
                or not isinstance(scores, list)
                or len(labels) != len(scores)
                or not all(isinstance(label, str) for label in labels)
                or not all(type(score) in (int, float) for score in scores)
            ):
                raise DataError(
                    "expected 'labels', a list of names, and 'scores', as many numbers", path=path, line=number
                )
            for label in labels:
                if label not in ids:
                    ids[label] = len(names)
                    names.append(label)
            out.append([(ids[label], float(score)) for label, score in zip(labels, scores, strict=True)])
    return out


def _xmc(path: Path) -> tuple[list[Row], int]:
    out: list[Row] = []
    with reading(path) as file:
        header = without_bom(file.readline()).split()
        if len(header) != 2 or not all(word.isdigit() for word in header):
            raise DataError("expected a first line of 2 counts: rows labels", path=path, line=1)
        n_rows, n_labels = map(int, header)
        for number, line in enumerate(file, 2):
            try:
                pairs = (pair.partition(":") for pair in decode(line, path, number).split())
                row = [(int(label), float(score)) for label, _, score in pairs]
            except ValueError:
                raise DataError("expected label:score pairs", path=path, line=number) from None
            if any(not 0 <= label < n_labels for label, _ in row):
                raise DataError(f"a label is outside the {n_labels} of the header", path=path, line=number)
            out.append(row)
    if len(out) != n_rows:
        raise DataError(f"expected {n_rows} rows, as the header says; got {len(out)}", path=path)
    return out, n_labels


def _npz(path: Path) -> tuple[list[Row], int]:
    scores = load_matrix(path, "predictions")
    order = TopK.from_csr(scores, max(1, int(np.diff(scores.indptr).max(initial=0))))
    return list(order), int(scores.shape[1])


def _top(rows: list[Row], n_labels: int) -> TopK:
    width = max([1, *map(len, rows)])
    labels, scores = np.full((len(rows), width), -1, np.int32), np.zeros((len(rows), width), np.float32)
    for i, row in enumerate(rows):
        labels[i, : len(row)] = [label for label, _ in row]
        scores[i, : len(row)] = [score for _, score in row]
    return TopK(labels, scores, n_labels)
