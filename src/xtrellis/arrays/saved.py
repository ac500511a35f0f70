"""Sparse matrices that SciPy has saved: npz files, from anybody."""

from __future__ import annotations

import os
import zipfile
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..core import InputError, size_text
from .limits import UNFOLDED_TIMES, unfolds_too_far

_ARRAYS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}


class SavedMatrix(NamedTuple):
    """What a file says, not looked through yet: `parts_of` does."""

    kind: str
    arrays: dict[str, Any]
    shape: list[int]


def read_saved(file: BinaryIO) -> SavedMatrix:
    """What `scipy.sparse.save_npz` wrote; InputError if it is something else. Nothing is ever unpickled.

    SciPy's own `load_npz` hands the arrays to its constructors before anybody has checked them, and unpacks whatever a
    small file unfolds to.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            unfolded = sum(member.file_size for member in archive.infolist())
            if unfolds_too_far(os.fstat(file.fileno()).st_size, unfolded):
                raise InputError(
                    f"unfolds to {size_text(unfolded)}, over {UNFOLDED_TIMES} times its size; if you trust it, save it "
                    "with compressed=False"
                )
            return _read(archive)
    except InputError:
        raise
    except MemoryError:
        raise InputError("announces arrays that do not fit into memory") from None
    except Exception as error:  # zipfile, zlib, struct, tokenize: damage has no one name here
        raise InputError(f"is not a sparse matrix saved by scipy ({type(error).__name__}: {error!s:.200})") from None


def _read(archive: zipfile.ZipFile) -> SavedMatrix:
    def array(name: str) -> Any:
        with archive.open(f"{name}.npy") as member:
            return np.lib.format.read_array(member, allow_pickle=False)

    kind = array("format").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else kind
    if kind not in _ARRAYS:
        raise ValueError(f"its format is {kind!r:.40}")
    names = _ARRAYS[kind]
    arrays = {name: array(name) for name in names if f"{name}.npy" in archive.namelist()}
    if kind == "coo" and "coords.npy" in archive.namelist():  # newer SciPy
        arrays["row"], arrays["col"] = array("coords")
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}")
    shape = array("shape")
    if shape.ndim != 1 or shape.dtype.kind not in "iu":
        raise ValueError(f"its shape is {shape!r:.40}")
    return SavedMatrix(kind, arrays, shape.tolist())
