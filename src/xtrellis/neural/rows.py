"""The door of models with an encoder: features, texts and labels, checked once; which rows are held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import as_features, as_labels, as_rows
from ..errors import InputError
from ..features import concatenate_features
from ..rng import generator
from ..types import Array, Csr, Float32, Int32
from .encoder import Encoder, Inputs

MOST_HELD_OUT, FEWEST_HELD_OUT = 5000, 50  # fewer would choose an epoch by chance


def door(encoder: Encoder, X: Any, Y: Any, texts: Sequence[str] | None) -> tuple[Csr, Csr, Sequence[str] | None]:
    """What `fit` was given, in the form that kernels trust."""
    X = as_features(X)
    Y = as_labels(Y, n_rows=int(X.shape[0]))
    if X.shape[0] == 0 or Y.shape[1] == 0:
        raise InputError(f"training needs at least one row and one label; got {X.shape[0]} rows, {Y.shape[1]} labels")
    if Y.nnz == 0:
        raise InputError("training needs at least one row with a label; Y is empty")
    return X, Y, checked_texts(encoder, texts, int(X.shape[0]))


def checked_texts(encoder: Encoder, texts: Sequence[str] | None, n: int | None) -> Sequence[str] | None:
    """Texts if the encoder reads them, one a row."""
    if encoder.reads != "texts":
        return None
    if texts is None:
        raise InputError(f"a {type(encoder).__name__} reads texts; pass texts=[…], one a row")
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise InputError("texts must be a sequence of strings, one a row")
    if n is not None and len(texts) != n:
        raise InputError(f"there are {len(texts)} texts for {n} rows; each row needs one")
    return texts


def split(Y: Csr, share: float, seed: int) -> tuple[Int32, Int32]:
    """Rows to train on and rows to choose the epoch by; both have labels."""
    rows = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
    held = min(int(share * len(rows)), MOST_HELD_OUT)
    held = held if held >= FEWEST_HELD_OUT else 0
    order = generator(seed, "holdout").permutation(len(rows))
    return np.sort(rows[order[held:]]), np.sort(rows[order[:held]])


def inputs_of(encoder: Encoder, X: Csr, texts: Sequence[str] | None) -> Inputs:
    """What the encoder reads."""
    return Inputs(texts=texts) if encoder.reads == "texts" else Inputs(X=X)


def encoded(
    encoder: Encoder,
    weights: Mapping[str, Array],
    X: Any,
    texts: Sequence[str] | None,
    *,
    threads: int | None,
    device: str,
) -> Float32:
    """Vectors of what `predict` was given."""
    n_features = encoder.n_features(weights)
    if n_features is None:
        inputs = Inputs(texts=checked_texts(encoder, texts, None if X is None else int(X.shape[0])))
    else:
        inputs = Inputs(X=as_rows(X, n_features=n_features))
    return encoder.encode(weights, inputs, threads=threads, device=device)


def label_vectors_of(
    encoder: Encoder, X: Csr, texts: Sequence[str] | None, *, seed: int, threads: int | None, device: str
) -> Csr:
    """ψ, the rows that label centroids are sums of: [bow/‖bow‖, φ/‖φ‖] (eq. 14).

    Of a BagEncoder that knows nothing yet, φ is a random projection of bow, so bow alone says the same.
    """
    known = None if texts is None else encoder.first_vectors(Inputs(texts=texts), threads=threads, device=device)
    return as_features(concatenate_features(X) if known is None else concatenate_features(X, known))
