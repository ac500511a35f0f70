"""`TrainingData`: what a model learns from, checked once at the door and handed to whatever trains on it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from ..arrays import (
    Csr,
    Float32,
    Int64,
    StringTable,
    as_features,
    as_labels,
    as_numbers,
    as_texts,
    assemble,
    count_ids,
    is_on_disk,
    n_bytes_of,
    take_rows,
    unfolds_too_far,
    unit_values,
)
from ..core import InputError, clear_calls, shown, size_text
from ..store import let_go
from .dataset import Dataset, positions
from .unit import unit_on_disk

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

MOST_WEIGHT = 1e6  # of a row; and its inverse the least: beyond, float32 loses the other rows
TOGETHER = 16 << 20  # bytes of a file that are looked at before its pages are let go
SAMPLED = 1 << 20  # bytes of a large file's beginning and end that stand for it


class LabelKnowledge(Protocol):
    """What a vocabulary knows of the labels of a training; `xtrellis.vocabulary.KnownLabels` is one."""

    def __len__(self) -> int: ...

    def names_of(self, label: int) -> Sequence[str]:
        """All names of a label."""

    @property
    def hierarchy(self) -> tuple[Int64, Int64, StringTable]:
        """Edges (child, parent; -1 for the top) among nodes, labels first, and the nodes' ids."""

    @property
    def fingerprint(self) -> str:
        """A hash of it."""


@clear_calls
@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows with features and labels; beside them the rows' texts, the labels' names and features, if there are such.

    Whatever it is made from becomes what is said below, or is refused: `fit` does not look at it again.
    """

    X: Csr  # n×d float32, sorted, finite; int32 ids and int64 offsets, as kernels want them
    Y: Csr  # n×L ones
    texts: Sequence[str] | None = None
    label_names: StringTable | None = None
    label_features: Csr | None = None  # L×any: help to place the labels in a tree
    sample_weight: Float32 | None = None  # n: how much each row counts
    known: LabelKnowledge | None = None  # what a vocabulary says of the labels

    _unscaled: ClassVar[Csr | None] = None

    @classmethod
    def of(
        cls,
        X: Any,
        Y: Any,
        *,
        texts: Any = None,
        label_names: Iterable[str] | None = None,
        label_features: Any = None,
        sample_weight: Any = None,
        known: LabelKnowledge | None = None,
    ) -> TrainingData:
        """From whatever users have, checked; a TrainingData passes as it is, of a Dataset its parts are taken."""
        if isinstance(X, TrainingData):
            if any(given is not None for given in (Y, texts, label_names, label_features, sample_weight, known)):
                raise InputError("TrainingData holds labels, texts and names itself; give nothing beside it")
            return X
        if isinstance(X, Dataset):
            if any(given is not None for given in (Y, texts, label_names)):
                raise InputError("a Dataset holds labels, texts and names itself; give none of them beside it")
            X, Y, texts, label_names = X.X, X.Y, X.texts, X.label_names
            if X is None:
                raise InputError("this Dataset has texts and no features: train an xt.Tagger on it")
        if Y is None:
            raise InputError("training needs labels: fit(X, Y)")
        return cls(X, Y, texts, label_names, label_features, sample_weight, known)  # type: ignore[arg-type]  # checked as it is made

    def __post_init__(self) -> None:
        X = as_features(self.X)
        names = None if self.label_names is None else StringTable.of(self.label_names)
        Y = as_labels(self.Y, n_rows=int(X.shape[0]), names=names)
        n_rows, n_labels = (int(size) for size in Y.shape)
        if n_rows == 0 or n_labels == 0:
            raise InputError(f"training needs at least one row and one label; got {n_rows} rows, {n_labels} labels")
        if unfolds_too_far(n_bytes_of(Y), 8 * n_labels):  # models make arrays of as many numbers
            raise InputError(
                f"{Y.nnz} entries in {n_labels} columns of Y: a number for each column alone would take "
                f"{size_text(8 * n_labels)}; leave out labels that no row has"
            )
        if names is not None and len(names) != n_labels:
            raise InputError(f"label_names must be {n_labels} names, one for each label; got {len(names)}")
        features = None if self.label_features is None else as_features(self.label_features, name="label features")
        if features is not None and features.shape[0] != n_labels:
            raise InputError(f"label features have {features.shape[0]} rows; Y has {n_labels} labels")
        if self.known is not None and len(self.known) != n_labels:
            raise InputError(f"the vocabulary knows {len(self.known)} labels of this training; Y has {n_labels}")
        texts = None if self.texts is None else as_texts(self.texts, n_rows=n_rows)
        weights = None if self.sample_weight is None else _weights(self.sample_weight, n_rows)
        vars(self).update(X=X, Y=Y, texts=texts, label_names=names, label_features=features, sample_weight=weights)

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
        return count_ids(self.Y.indices, self.n_labels)

    @property
    def n_bytes(self) -> int:
        """Of all matrices in memory; of scaled rows, the values they had before are somebody's still."""
        matrices = [matrix for matrix in (self.X, self.Y, self.label_features) if matrix is not None]
        arrays = [array for m in matrices for array in (m.indptr, m.indices, m.data)]
        if self._unscaled is not None:
            arrays.append(self._unscaled.data)
        return sum(int(array.nbytes) for array in arrays if not is_on_disk(array))

    @property
    def on_disk(self) -> int:
        """Bytes of the matrices that lie in files and take no memory for good."""
        matrices = [matrix for matrix in (self.X, self.Y) if matrix is not None]
        arrays = [array for m in matrices for array in (m.indptr, m.indices, m.data)]
        return sum(int(array.nbytes) for array in arrays if is_on_disk(array))

    def select(self, rows: Any) -> Self:
        """Some of the rows: positions, a boolean mask, or a slice; labels stay as they are."""
        rows = positions(rows, self.n_rows)
        texts = None if self.texts is None else [self.texts[int(i)] for i in rows]
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return self._with(X=take_rows(self.X, rows), Y=take_rows(self.Y, rows), texts=texts, sample_weight=weights)

    def that_count(self) -> Self:
        """Without the rows of weight 0: they are as if they were not there."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.select(np.flatnonzero(self.sample_weight))

    def at_unit_length(self) -> Self:
        """The same with rows of features at length 1: itself, if they are."""
        values = unit_on_disk(self.X) if is_on_disk(self.X.data) else unit_values(self.X)
        if values is self.X.data:
            return self
        X = assemble(values, self.X.indices, self.X.indptr, self.X.shape)
        if getattr(self.X, "source", None) is not None:
            X.source = self.X.source._replace(unit=True)
        return self._with(X=X, _unscaled=self.X)

    def _with(self, **changed: Any) -> Self:
        """A copy; what is made of checked data is not checked again."""
        made = object.__new__(type(self))
        vars(made).update({field.name: getattr(self, field.name) for field in fields(self)})
        vars(made).update(changed)
        return made

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this data: not again while something that was made under this key is still in use.

        `key` says all that it depends on beside the data. Models that are trained one after another share it so.
        """
        found: T | None = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
        return found

    @cached_property
    def _made(self) -> WeakValueDictionary[Hashable, Any]:
        return WeakValueDictionary()

    @cached_property
    def fingerprint(self) -> dict[str, str | None]:
        """A hash of each thing that a training on it depends on."""
        return {
            "X": _matrix(self.X),
            "Y": _matrix(self.Y),
            "texts": None if self.texts is None else _strings(self.texts),
            "label names": None if self.label_names is None else _strings(self.label_names),
            "label features": None if self.label_features is None else _matrix(self.label_features),
            **({} if self.sample_weight is None else {"weights": _digest(self.sample_weight)}),
            **({} if self.known is None else {"vocabulary": self.known.fingerprint}),
        }


def _weights(given: Any, n_rows: int) -> Float32:
    """How much rows count: finite, none below 0, some above."""
    weights = as_numbers(given, "sample_weight", f"{n_rows} numbers, one for each row")
    if weights.shape != (n_rows,):
        raise InputError(f"sample_weight must be {n_rows} numbers, one for each row; got shape {weights.shape}")
    if not ((weights >= 0) & (weights <= MOST_WEIGHT)).all() or not weights.any():
        raise InputError(f"sample_weight must be between 0 and {MOST_WEIGHT:g}, and not all zero; got {shown(given)}")
    return np.where(weights > 0, weights.clip(1 / MOST_WEIGHT), 0).astype(np.float32)


def _matrix(matrix: Csr) -> str:
    return f"{matrix.shape[0]}×{matrix.shape[1]} {_digest(matrix.indptr, matrix.indices, matrix.data)}"


def _digest(*arrays: Any) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        content = np.ascontiguousarray(array).view(np.uint8)
        for begin in range(0, len(content), TOGETHER):
            digest.update(content[begin : begin + TOGETHER].data)
            if is_on_disk(array):
                let_go()
    return digest.hexdigest()


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
