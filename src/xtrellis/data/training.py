"""`TrainingData`: what a model learns from, checked once at the door and handed to whatever trains on it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Csr, Int64, StringTable, as_features, as_labels, as_texts, take_rows
from ..core import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

SAMPLED = 1 << 20  # bytes of a large file's beginning and end that stand for it


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows with features and labels; beside them the rows' texts, the labels' names and features, if there are such."""

    X: Csr  # n×d float32, sorted, finite; int32 ids and int64 offsets, as kernels want them
    Y: Csr  # n×L ones
    texts: Sequence[str] | None = None
    label_names: StringTable | None = None
    label_features: Csr | None = None  # L×any: help to place the labels in a tree

    @classmethod
    def of(
        cls,
        X: Any,
        Y: Any,
        *,
        texts: Any = None,
        label_names: Iterable[str] | None = None,
        label_features: Any = None,
    ) -> TrainingData:
        """From whatever users have, checked; a TrainingData passes as it is."""
        if isinstance(X, TrainingData):
            if Y is not None or texts is not None or label_names is not None or label_features is not None:
                raise InputError("TrainingData holds labels, texts and names itself; give nothing beside it")
            return X
        if Y is None:
            raise InputError("training needs labels: fit(X, Y)")
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        n_rows, n_labels = (int(size) for size in Y.shape)
        if n_rows == 0 or n_labels == 0:
            raise InputError(f"training needs at least one row and one label; got {n_rows} rows, {n_labels} labels")
        names = None if label_names is None else StringTable.of(label_names)
        if names is not None and len(names) != n_labels:
            raise InputError(f"label_names must be {n_labels} names, one for each label; got {len(names)}")
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
            if label_features.shape[0] != n_labels:
                raise InputError(f"label features have {label_features.shape[0]} rows; Y has {n_labels} labels")
        checked = None if texts is None else as_texts(texts, n_rows=n_rows)
        return cls(X, Y, checked, names, label_features)

    @property
    def n_rows(self) -> int:
        """Rows of X and Y."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Columns of Y."""
        return int(self.Y.shape[1])

    @cached_property
    def label_counts(self) -> Int64:
        """Rows of each label."""
        return np.bincount(self.Y.indices, minlength=self.n_labels).astype(np.int64)

    def select(self, rows: Any) -> Self:
        """Some of the rows; labels stay as they are."""
        texts = None if self.texts is None else [self.texts[int(i)] for i in rows]
        return replace(self, X=take_rows(self.X, rows), Y=take_rows(self.Y, rows), texts=texts)

    @cached_property
    def fingerprint(self) -> dict[str, str | None]:
        """A hash of each thing that a training on it depends on."""
        return {
            "X": _matrix(self.X),
            "Y": _matrix(self.Y),
            "texts": None if self.texts is None else _strings(self.texts),
            "label names": None if self.label_names is None else _strings(self.label_names),
            "label features": None if self.label_features is None else _matrix(self.label_features),
        }


def _matrix(matrix: Csr) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in (matrix.indptr, matrix.indices, matrix.data):
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return f"{matrix.shape[0]}×{matrix.shape[1]} {digest.hexdigest()}"


def _strings(strings: Sequence[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for string in strings:
        encoded = string.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return f"{len(strings)} {digest.hexdigest()}"


def hash_files(paths: Iterable[Path]) -> dict[str, str | None]:
    """A hash of what each file or folder holds (None: it is not there); of large files, of both ends and the size."""
    return {str(path): _path(path) for path in paths}


def _path(path: Path) -> str | None:
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path] if path.is_file() else []
    digest = hashlib.blake2b(digest_size=16)
    for file in files:
        with file.open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            digest.update(f"{file.relative_to(path)} {size} ".encode("utf-8", "surrogateescape"))
            digest.update(content.read(SAMPLED))
            content.seek(max(size - SAMPLED, content.tell()))
            digest.update(content.read())
    return f"{len(files)} {digest.hexdigest()}" if files else None
