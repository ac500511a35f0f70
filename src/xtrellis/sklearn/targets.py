"""What `y` may be, lists of labels, a matrix, or one label a row, becomes a matrix and the classes of its columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, Csr, Int64, as_matrix, is_list
from ..core import InputError, ParameterError, shown
from .installed import DataConversionWarning, MultiLabelBinarizer, check_classification_targets, type_of_target

_ROWS = (list, tuple, set, frozenset)


def is_lists(y: Any) -> bool:
    """True of a list (or a column) of lists of labels."""
    if sp.issparse(y) or hasattr(y, "columns") or len(getattr(y, "shape", (0,))) != 1:
        return False
    rows = y.tolist() if hasattr(y, "tolist") else y
    if not isinstance(rows, (list, tuple)) or not rows:
        return False
    lists = [isinstance(row, (*_ROWS, np.ndarray)) for row in rows]
    if any(lists) and not all(lists):
        odd = lists.index(False)
        raise InputError(f"y must have a list of labels for each row; row {odd} is {shown(rows[odd])}: [] for none")
    if not all(lists):
        return False
    if any(isinstance(label, str) for row in rows for label in row):
        return True
    if not any(len(row) for row in rows):
        raise InputError("y has no labels at all: every row is empty")
    return bool(sp.issparse(as_matrix(list(rows), "y", None, None)))  # ids, not a matrix of 0 and 1


def targets(y: Any, classes: Any = None) -> tuple[Any, Array, bool]:
    """A label matrix, the classes of its columns, and whether each row has just one."""
    Y, found, one_label = _found_targets(y)
    if classes is None:
        return Y, found, one_label
    known = list(classes) if is_list(classes) else None
    if not known or len(set(known)) != len(known):
        raise ParameterError(f"classes must be a list of different labels, or None; got {shown(classes)}")
    if not one_label and not is_lists(y):
        if len(known) != len(found):
            raise InputError(f"classes must name the {len(found)} columns of y; got {len(known)}")
        return Y, _as_classes(known), False
    columns, more = _columns_among(found, known)
    if more:
        strange = found[columns >= len(known)][0]
        raise InputError(f"y has the label {strange!r}, which is not among classes")
    return _renumbered(Y, columns, len(known)), _as_classes(known), one_label


def _as_classes(known: list[Any]) -> Array:
    """An array, of names or of numbers; of tuples and the like, one of objects."""
    made = np.asarray(known)
    if made.ndim == 1:
        return made
    out = np.empty(len(known), object)
    out[:] = known
    return out


def _found_targets(y: Any) -> tuple[Any, Array, bool]:
    """What `y` itself holds."""
    if is_lists(y):
        rows = y.tolist() if hasattr(y, "tolist") else y
        binarizer = MultiLabelBinarizer(sparse_output=True)
        try:
            return binarizer.fit_transform([list(row) for row in rows]), binarizer.classes_, False
        except TypeError as error:  # names and numbers have no order among each other
            raise InputError(f"the labels in y must be all names or all numbers ({error})") from None
    y = y if sp.issparse(y) else np.asarray(y)
    if len(y.shape) == 2 and (sp.issparse(y) or y.shape[1] > 1):
        check_classification_targets(y)
        if not str(type_of_target(y)).startswith("multilabel"):
            raise InputError(f"y must be an indicator of 0 and 1, lists of labels, or one label a row; got {shown(y)}")
        return y, np.arange(y.shape[1]), False
    column = y
    if column.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        column = column.ravel()
    check_classification_targets(column)
    classes, numbers = np.unique(column, return_inverse=True)
    ones = np.ones(len(column), np.float32)
    return sp.csr_array((ones, numbers, np.arange(len(column) + 1)), shape=(len(column), len(classes))), classes, True


def known_targets(y: Any, classes: Array) -> tuple[Csr, int]:
    """Labels of rows to be judged over the classes that were trained, unknown ones as more columns at the end."""
    Y, found, _ = targets(y)
    if not is_lists(y) and len(found) == len(classes) and (found == classes).all():
        return Y, 0
    columns, more = _columns_among(found, classes.tolist())
    return _renumbered(Y, columns, len(classes) + more), more


def _columns_among(found: Array, known: list[Any]) -> tuple[Int64, int]:
    """The number of each label among the known ones; those that are not get further numbers, so many."""
    numbers = {label: i for i, label in enumerate(known)}
    columns = np.array([numbers.get(label, -1) for label in found.tolist()], np.int64)
    more = int((columns < 0).sum())
    columns[columns < 0] = len(known) + np.arange(more)
    return columns, more


def _renumbered(Y: Any, columns: Int64, width: int) -> Csr:
    """The same labels in other columns."""
    rows = sp.csr_array(Y)
    made = sp.csr_array((rows.data, columns[rows.indices], rows.indptr), shape=(rows.shape[0], width))
    made.sort_indices()
    return made
