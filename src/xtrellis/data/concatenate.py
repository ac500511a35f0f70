"""Several data sets as one: rows below each other, labels by their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..arrays import Csr, StringTable, as_features, is_list
from ..core import InputError, clear_calls, require, shown
from .align import align
from .dataset import Dataset


@clear_calls
def concatenate(datasets: Sequence[Dataset], *, name: str = "") -> Dataset:
    """The rows of all, in their order; labels of the same name are one, in the order of their names.

    All must have texts, or all features of the same number. Data without label names must agree in their number.
    """
    if not is_list(datasets):
        raise InputError(f"datasets must be a list of them; got {shown(datasets)}")
    datasets = list(datasets)
    for i, data in enumerate(datasets):
        require(data, Dataset, f"datasets[{i}]", "an xt.Dataset")
    if not datasets:
        raise InputError("there must be at least one data set to join")
    if len(datasets) == 1:
        return datasets[0]
    if len({data.label_names is None for data in datasets}) > 1:
        bare = next(data for data in datasets if data.label_names is None)
        raise InputError(f"some of the data has label names and {bare.name or 'some'} has none; they cannot be joined")
    with_texts = all(data.texts is not None for data in datasets)
    widths = {data.n_features for data in datasets}
    if not with_texts and (any(data.X is None for data in datasets) or len(widths) > 1):
        kinds = ", ".join(
            f"{d.name or '?'}: {'texts' if d.X is None else f'{d.n_features} features'}" for d in datasets
        )
        raise InputError(f"data sets can be joined if all have texts, or the same number of features; got {kinds}")
    first = datasets[0]
    if not with_texts:
        _require_same_features(datasets)
    if first.label_names is None:
        if len({data.n_labels for data in datasets}) > 1:
            counts = ", ".join(str(data.n_labels) for data in datasets)
            raise InputError(f"data sets without label names must have the same number of labels; got {counts}")
        names = None
    else:
        names = StringTable.of(sorted({label for data in datasets for label in data.label_names or []}))
        datasets = [align(data, names) for data in datasets]
    X = None
    if not with_texts or (all(data.X is not None for data in datasets) and len(widths) == 1):
        X = _stacked([data.X for data in datasets])
    excluded = None
    if any(data.excluded is not None for data in datasets):
        excluded = _stacked([sp.csr_array(d.Y.shape) if d.excluded is None else d.excluded for d in datasets])
    return Dataset(
        X,
        _stacked([data.Y for data in datasets]),
        texts=[text for data in datasets for text in data.texts or []] if with_texts else None,
        label_names=names,
        feature_names=first.feature_names if X is not None else None,
        name=name or first.name,
        excluded=excluded,
        dropped_labels=sum(data.dropped_labels for data in datasets),
    )


def _require_same_features(datasets: Sequence[Dataset]) -> None:
    named = [data for data in datasets if data.feature_names is not None]
    for data in named[1:]:
        if data.feature_names != named[0].feature_names:
            raise InputError(
                f"the features of {named[0].name or '?'} and {data.name or '?'} have other names, or another order; "
                "number them alike before they are joined"
            )


def _stacked(matrices: Sequence[Csr | None]) -> Csr:
    there = [matrix for matrix in matrices if matrix is not None]
    return as_features(sp.vstack([sp.csr_array(matrix, dtype=np.float32) for matrix in there], format="csr"))
