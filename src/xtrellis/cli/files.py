"""Models and data as the commands open them, with the mistakes a user can make told before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, ParameterError, StoreError

if TYPE_CHECKING:
    from ..data import Dataset
    from ..strings import StringTable
    from ..tagger import Tagger
    from ..types import Csr

MANIFEST = "model.json"


def is_model(path: Path) -> bool:
    """True if `path` is a model folder (or its manifest)."""
    return (path / MANIFEST).is_file()


def load_tagger(path: Path) -> Tagger:
    """The model at `path` with its label names; a bare model's labels are called by their numbers."""
    from .. import store
    from ..tagger import Tagger

    if not path.exists():
        raise StoreError(f"{path}: there is no such model; `xtrellis train DATA --to {path}` makes one")
    if not is_model(path):
        raise StoreError(f"{path} is not a model folder (it has no {MANIFEST})")
    loaded = store.load(path)
    if isinstance(loaded, Tagger):
        return loaded
    return Tagger.of_model(loaded)


def check_target(path: Path) -> None:
    """Refuse a place where a model cannot be written, before an hour of training."""
    from ..store.swap import target_of

    target = target_of(path)
    parent = next(p for p in target.parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise StoreError(f"{path} cannot be written: {parent} is not a folder you may write to")


def folder_size(path: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())


def align(dataset: Dataset, names: StringTable) -> tuple[Csr, int]:
    """The labels of `dataset` in the model's numbering, and how many of them the model does not know.

    Files number their labels on their own, so names decide. Labels unknown to the model keep a column of their own
    after the model's: they are never predicted, but recall must count them. Data without names must already be in the
    model's numbering.
    """
    from scipy.sparse import csr_array

    Y, n = csr_array(dataset.Y), len(names)
    if dataset.label_names is None:
        if Y.shape[1] > n and Y.nnz and int(Y.indices.max()) >= n:
            raise InputError(f"the data has {Y.shape[1]} labels without names, but the model knows {n}")
        return csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], n)), 0
    if dataset.label_names == names:
        return Y, 0
    columns = np.empty(Y.shape[1], np.int64)
    unknown = 0
    for old, name in enumerate(dataset.label_names):
        new = names.find(name)
        columns[old] = n + unknown if new is None else new
        unknown += new is None
    out = csr_array((Y.data, columns[Y.indices], Y.indptr), shape=(Y.shape[0], n + unknown))
    out.sort_indices()
    return out, unknown


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name to write to; the file appears at `path` only if the block succeeds."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; --to must name a file")
    # The suffix stays last, since writers choose the format by it.
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def settings_of(pairs: list[str]) -> list[tuple[str, str]]:
    """`--set key=value` as pairs."""
    out = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f"--set must be key=value, such as --set index.arity=8; got {pair!r}")
        out.append((key.strip(), value.strip()))
    return out
