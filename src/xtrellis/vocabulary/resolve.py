"""Data names labels by ids or by any of their names; here they become ids, and what nobody knows is counted."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import StringTable
from ..core import DataError, InputError, as_path, choice, require, shown
from ..data import Dataset, relabel
from .lookup import close_to, numbers_of

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

NOT_THERE = "not in the vocabulary"
EXAMPLES = 3  # that a message names
MOST_GUESSED = 5000  # unknown labels for which the nearest is looked for
THOROUGH = 20  # for how many of them among all names, not only those that begin alike


class UnknownLabel(NamedTuple):
    """A label of some data that the vocabulary has no use for: how often it occurs, why, and what may be meant."""

    label: str
    rows: int
    reason: str
    nearest_id: str = ""
    nearest_name: str = ""


@dataclass(frozen=True)
class Resolved:
    """A data set whose labels go by their ids."""

    dataset: Dataset
    unknown: list[UnknownLabel]  # most frequent first
    replaced: dict[str, str]  # labels of the data that are out of use -> what stands for them
    n_names: int  # labels that were named by a name, not by their id
    emptied: int = 0  # rows that had labels, of which none is left

    def __str__(self) -> str:
        entries = sum(one.rows for one in self.unknown)
        told = f"{self.dataset.n_labels:,} labels by their ids"
        if self.n_names:
            told += f" ({self.n_names:,} of them named by name)"
        if self.replaced:
            told += f", {len(self.replaced):,} replaced by their successors"
        if self.unknown:
            some = ", ".join(shown(one.label) for one in self.unknown[:EXAMPLES])
            more = ", …" if len(self.unknown) > EXAMPLES else ""
            told += f"; {len(self.unknown):,} are not known ({some}{more}), {entries:,} times"
        if self.emptied:
            told += f"; {self.emptied:,} rows are left without a label and are left out"
        return told

    def write_unknown(self, path: str | os.PathLike[str]) -> None:
        """The unknown labels as a table: label, rows, reason, and the nearest by id and name."""
        place = as_path(path, "path", error=InputError)
        lines = ["\t".join(("label", "rows", "reason", "nearest_id", "nearest_name"))]
        lines += ["\t".join(" ".join(str(cell).split()) for cell in one) for one in self.unknown]
        draft = Path(f"{place}.part")
        try:
            draft.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")
            draft.replace(place)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise DataError(f"cannot be written: {error.strerror or error}", path=place) from None


def resolve(
    vocabulary: Vocabulary, dataset: Dataset, *, language: str | None = None, unknown: str = "drop"
) -> Resolved:
    """See `Vocabulary.resolve`."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    choice("drop", "keep")("unknown", unknown)
    given = dataset.label_names
    if given is None:
        raise InputError(
            "the data has numbers for labels and no names, so a vocabulary cannot say which they are: give names "
            "(labels.txt beside the data), or ids"
        )
    names = list(given)
    by_id = numbers_of(vocabulary, names)
    rows = np.bincount(dataset.Y.indices, minlength=len(names)).tolist()
    target: list[str | None] = []
    missing: list[tuple[int, str]] = []
    replaced: dict[str, str] = {}
    n_names = 0
    for i, name in enumerate(names):
        found = by_id[i]
        several: list[int] = []
        if found is None:
            several = vocabulary.matches(name, language=language)
            found = several[0] if len(several) == 1 else None
            n_names += found is not None
        why = ""
        if found is None:
            ids = ", ".join(vocabulary.ids[number] for number in several[:EXAMPLES])
            why = f"means {len(several)} labels: {ids}" if several else NOT_THERE
        else:
            last = vocabulary.successor(found)
            if last is None:
                why = "retired" if int(vocabulary.replaced[found]) < 0 else "replaced by a label that is out of use"
            elif last != found:
                replaced[name] = vocabulary.ids[last]
            found = last
        if found is None:
            target.append(name if unknown == "keep" else None)
            missing.append((i, why))
        else:
            target.append(vocabulary.ids[found])
    if len(missing) == len(names) and names and unknown == "drop":
        raise InputError(
            f"none of the {len(names):,} labels of the data is in the vocabulary: such as {shown(names[0])}, where an "
            f"id is {shown(vocabulary.ids[0])}{vocabulary.offer(names[0], language=language)}"
        )
    kept = list(dict.fromkeys(id for id in target if id is not None))
    out = relabel(dataset, target, StringTable.of(sorted(kept)))
    emptied = 0
    if unknown == "drop" and missing:
        lost = (np.diff(dataset.Y.indptr) > 0) & (np.diff(out.Y.indptr) == 0)
        emptied = int(lost.sum())
        if emptied:
            out = out.select(np.flatnonzero(~lost))
        out = replace(out, dropped_labels=dataset.dropped_labels)
    missing.sort(key=lambda one: (-rows[one[0]], names[one[0]]))
    listed = [_unknown(vocabulary, names[i], rows[i], why, language, place=place)
              for place, (i, why) in enumerate(missing)]  # fmt: skip
    return Resolved(out, listed, replaced, n_names, emptied)


def _unknown(vocabulary: Vocabulary, name: str, rows: int, why: str, language: str | None, *, place: int) -> Any:
    near = None
    if place < MOST_GUESSED and why == NOT_THERE:
        near = close_to(vocabulary, name, language, quick=place >= THOROUGH)
    if near is None:
        return UnknownLabel(name, rows, why)
    return UnknownLabel(name, rows, why, vocabulary.ids[near], vocabulary.name_of(near, language))
