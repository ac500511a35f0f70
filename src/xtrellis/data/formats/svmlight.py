"""svmlight / libsvm text: `label,label feature:value … # comment`, no header.

Whether features count from 0 or from 1 cannot be seen from a file for certain, so the caller says it. Labels are taken
as column numbers as they stand, from 0. A line that is nothing but a comment is skipped; an empty line is an empty row.
"""

from __future__ import annotations

from pathlib import Path

from ...core import DataError, ParameterError, progress
from ..dataset import Dataset
from . import rows
from .files import plain_name, reading, writing
from .names import align
from .options import Options
from .require import features_of


def read_svmlight(path: Path, options: Options) -> Dataset:
    """An svmlight file; `n_features` and `n_labels` widen it to the columns of the data it belongs to."""
    if options.index_base is None:
        raise DataError(
            "svmlight files do not say whether features count from 0 or from 1; give index_base=0 or index_base=1 "
            "(libsvm's own sets count from 1, scikit-learn writes 0 unless told otherwise)",
            path=path,
        )
    n_labels = options.n_labels
    if n_labels is None and options.labels is not None:
        n_labels = len(options.labels)
    layout = rows.Layout(
        comments=True,
        n_labels=n_labels,
        n_features=options.n_features,
        base=options.index_base,
        source="n_features and n_labels",
    )
    size = path.stat().st_size if path.is_file() else None
    with progress.step(f"reading {path.name}", total=size, unit="B") as advance, reading(path, advance) as file:
        parsed = rows.parse(file, path, layout, threads=options.threads)
    rows.note_duplicates(parsed, path)
    return align(Dataset(parsed.X, parsed.Y, name=Path(plain_name(path)).stem), options.labels, path)


def write_svmlight(dataset: Dataset, path: Path, options: Options) -> None:
    """An svmlight file. It has no place for the numbers of features and labels, nor for names."""
    X = features_of(dataset, "svmlight")
    if options.index_base is None:
        raise ParameterError("svmlight files need index_base=0 or index_base=1, the number of the first feature")
    with writing(path) as out:
        rows.emit(out, dataset.Y, X, base=options.index_base)
