"""Pairs of scipy npz files, `X.npz` and `Y.npz`; also `X.trn.npz` beside `Y.trn.npz`, as PECOS names them."""

from __future__ import annotations

import re
from pathlib import Path

import scipy.sparse as sp

from ...arrays import Csr, parts_of, read_saved
from ...core import DataError, InputError
from ..dataset import Dataset
from .files import is_file, is_folder, writing
from .names import align, read_names, write_names
from .options import Options
from .require import features_of

_PARTS = {"train": ("X.trn.npz", "X.train.npz", "X_train.npz"), "test": ("X.tst.npz", "X.test.npz", "X_test.npz")}
_X = re.compile(r"(?<![A-Za-z0-9])[XY](?![A-Za-z0-9])")  # a lone X or Y among the words of a file name


def pair_of(path: Path, options: Options) -> tuple[Path, Path] | None:
    """The X and Y files that a folder or either file's path stands for; None if it is no npz pair."""
    if is_folder(path):
        for part in [options.part] if options.part else list(_PARTS):
            for name in _PARTS[part]:
                if is_file(path / name):
                    both = options.part is None and any(is_file(path / n) for n in _PARTS["test"])
                    if both and part == "train":
                        raise DataError("holds the parts train and test; say which with part='train'", path=path)
                    return pair_of(path / name, options)
        return pair_of(path / "X.npz", options) if is_file(path / "X.npz") and options.part is None else None
    if not path.name.endswith(".npz") or not _X.search(path.name):
        return None
    return (path.with_name(_X.sub("X", path.name, count=1)), path.with_name(_X.sub("Y", path.name, count=1)))


def read_npz(path: Path, options: Options) -> Dataset:
    """Both files of a pair; names from labels.txt and features.txt beside them."""
    pair = pair_of(path, options)
    if pair is None:
        raise DataError(
            "npz data are two files: give the one with X in its name (X.npz beside Y.npz) or their folder", path=path
        )
    X, Y = load_matrix(pair[0], "X"), load_matrix(pair[1], "Y")
    if X.shape[0] != Y.shape[0]:
        raise DataError(f"has {Y.shape[0]} rows; {pair[0].name} beside it has {X.shape[0]}", path=pair[1])
    try:
        dataset = Dataset(X, Y, name=pair[0].parent.name)
    except InputError as error:
        raise DataError(str(error), path=path) from None
    return align(
        Dataset(
            dataset.X,
            dataset.Y,
            label_names=read_names(pair[0].parent, "labels.txt", dataset.n_labels, "labels"),
            feature_names=read_names(pair[0].parent, "features.txt", dataset.n_features, "features"),
            name=dataset.name,
        ),
        options.labels,
        path,
    )


def write_npz(dataset: Dataset, path: Path, options: Options) -> None:
    """`path` is the X file of the pair, or a folder for X.npz and Y.npz."""
    X = features_of(dataset, "npz")
    if path.suffix != ".npz":
        path = path / (_PARTS[options.part][0] if options.part else "X.npz")
    pair = pair_of(path, options)
    if pair is None:
        raise InputError(
            f"npz data are two files: give a folder, or a name with X in it such as X.npz; got {path.name!r}"
        )
    write_names(path.parent, "labels.txt", dataset.label_names)
    write_names(path.parent, "features.txt", dataset.feature_names)
    for file, matrix in zip(pair, (X, dataset.Y), strict=True):
        with writing(file) as out:
            sp.save_npz(out, matrix)


def load_matrix(path: Path, name: str) -> Csr:
    """A sparse matrix that SciPy saved, checked; `name` is what it is called in errors."""
    if not is_file(path):
        raise DataError("there is no such file; npz data are a pair such as X.npz and Y.npz", path=path)
    try:
        with path.open("rb") as file:
            saved = read_saved(file)
        return parts_of(*saved, name).to_scipy()
    except (InputError, OSError) as error:
        raise DataError(str(error), path=path) from None
