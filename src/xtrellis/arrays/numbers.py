"""Lists of numbers that users pass in beside matrices: weights, depths, ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import InputError, shown
from .types import Array, Float64, Int64


def as_numbers(values: Any, name: str, what: str = "a list of numbers") -> Float64:
    """Real numbers of any shape as float64; `what` says in words what they must be."""
    found = as_plain(values, name, what)
    if found.dtype.kind not in "fiub":
        raise InputError(f"{name} must be {what}; got {_told(values, found)}")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(found, np.float64)


def as_integers(values: Any, name: str, what: str = "a list of integers", *, dtype: Any = np.int64) -> Any:
    """Integers of one dimension; those that the dtype cannot hold are refused, not wrapped around."""
    found = as_plain(values, name, what)
    if not found.size and found.ndim == 1:
        return found.astype(dtype)
    bounds = np.iinfo(dtype)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise InputError(f"{name} must be {what}; got {_told(values, found)}")
    if int(found.min()) < bounds.min or int(found.max()) > bounds.max:
        raise InputError(f"{name} must be {what} from {bounds.min} to {bounds.max}; got {_told(values, found)}")
    made: Int64 = np.ascontiguousarray(found, dtype)
    return made


def as_plain(values: Any, name: str, what: str) -> Array:
    """An array of what is given; of a ragged list NumPy makes none, and of a sparse matrix one that holds an object."""
    if isinstance(values, np.ma.MaskedArray):
        raise InputError(f"{name} must be {what}; got a masked array: fill it first")
    try:
        return np.asarray(values)
    except Exception:  # __array__ and __len__ of somebody else fail in any way
        raise InputError(f"{name} must be {what}; got {shown(values)}") from None


def _told(values: Any, found: Array) -> str:
    """Large arrays by what they are."""
    return f"an array of {found.dtype}, shape {found.shape}" if isinstance(values, np.ndarray) else shown(values)
