"""What users give a tagger: its parts, and label names, a list for each text, which become a matrix.

Names follow the same rules as those of a file.
"""

from __future__ import annotations

from itertools import chain
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Csr, StringTable, is_list
from ..core import InputError, shown
from ..data import Tidy, labels_from_pairs
from ..model import Model
from ..text import Vectorizer

if TYPE_CHECKING:
    from .tagger import Tagger


def require_parts(vectorizer: Any, model: Any) -> None:
    """Refuse what is no vectoriser or no model, and tell how it becomes one."""
    if not isinstance(model, Model):
        raise InputError(f"model must be a model such as xt.preset('bonsai'); got {_no_model(model)}")
    if vectorizer is not None and not isinstance(vectorizer, Vectorizer):
        raise InputError(
            f"vectorizer must be an xt.Vectorizer, or None if rows are features already; got "
            f"{type(vectorizer).__name__}: train on the matrix that it makes, or put both into a pipeline with "
            "xtrellis.sklearn.Classifier"
        )


def _no_model(given: Any) -> str:
    if isinstance(given, str):
        return f"the name {shown(given)}: xt.preset({shown(given)})"
    if isinstance(given, type):
        return f"the class {given.__name__}: call it, {given.__name__}()"
    return f"{type(given).__name__}{': Tagger(vectorizer, model)' if isinstance(given, Vectorizer) else ''}"


def label_matrix(labels: Any, n_rows: int) -> tuple[StringTable, Csr]:
    """Lists of label names as sorted names and an n×L matrix of ones; a name given twice in a row counts once.

    White space around a name is no part of it, None is a list without labels; both are counted and told of.
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind in "UO":
        labels = labels.tolist()  # lists of one length, which NumPy has made a table of
    if not is_list(labels):
        matrix = ": with a matrix, fit(xt.Dataset(None, Y, texts=…, label_names=…))" if hasattr(labels, "shape") else ""
        raise InputError(f"labels must be one list of names for each text; got {type(labels).__name__}{matrix}")
    tidy = Tidy()
    rows: list[set[str]] = []
    plain: set[str] = set()  # names that were looked at before and are as they should be
    for i, given in enumerate(labels):
        row = tidy.labels(None if isinstance(given, float) and given != given else given)  # pandas has NaN for null
        if not is_list(row):
            raise InputError(
                f"labels[{i}] must be a list of names; got {row!r:.60}" + (_listed(row) if isinstance(row, str) else "")
            )
        names_of_row = list(row)
        if all(type(name) is str and name in plain for name in names_of_row):
            rows.append(set(names_of_row))
            continue
        for name in names_of_row:
            if not isinstance(name, str):
                cure = ": give names as strings" if isinstance(name, Number) else ""
                raise InputError(f"labels[{i}] must hold names; got {type(name).__name__} {shown(name)}{cure}")
            if not name.strip():
                raise InputError(f"labels[{i}] must hold names; got an empty one, {name!r}: leave it out")
        tidied = [tidy.name(name) for name in names_of_row]
        plain.update(bare for bare, name in zip(tidied, names_of_row, strict=True) if bare == name)
        rows.append(set(tidied))
    if len(rows) != n_rows:
        raise InputError(f"there must be one list of labels for each text; got {n_rows} texts and {len(rows)} lists")
    tidy.tell("labels")
    names = sorted(set(chain.from_iterable(rows)))
    number_of = {name: i for i, name in enumerate(names)}
    counts = [len(row) for row in rows]
    columns = np.fromiter((number_of[name] for row in rows for name in row), np.int64, sum(counts))
    Y = labels_from_pairs(np.repeat(np.arange(n_rows), counts), columns, (n_rows, len(names)))
    return StringTable.of(names), Y


def _listed(row: str) -> str:
    """What a string in place of a list was probably meant to be, and how all rows become it."""
    mark = next((mark for mark in (";", "|") if mark in row), None)
    if mark is None:
        return f", did you mean [{row!r:.60}]? For one label each: [[label] for label in labels]"
    return f", did you mean {row.split(mark)!r:.60}? For all: [row.split({mark!r}) for row in labels]"


def names_to_read(tagger: Tagger, names: StringTable | None) -> StringTable:
    """The names; refuses before any work if there are none, or nothing to read them, or no use for them."""
    if not tagger.model.uses_label_features:
        raise InputError(f"label_text: {type(tagger.model).__name__} has no use for the labels' names")
    if tagger.vectorizer is None:
        raise InputError("label_text needs texts: without them there is no vectoriser to read the labels' names")
    if names is None:
        raise InputError("label_text needs the labels' names; the data has none")
    return names
