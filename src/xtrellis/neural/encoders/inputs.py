"""What encoders are given: features or texts, rows to validate with, rows that label centroids are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import Array, Csr, Float32, Int32, as_features, as_rows, as_texts, concatenate_features
from ...core import InputError, generator
from ...data import TrainingData
from .base import Encoder, Inputs

MOST_VALIDATION, FEWEST_VALIDATION = 5000, 50  # fewer would choose an epoch by chance


def texts_for(encoder: Encoder, texts: Any, n_rows: int | None) -> Sequence[str] | None:
    """Texts if the encoder reads them, one per row."""
    if encoder.reads != "texts":
        return None
    if texts is None:
        raise InputError(f"a {type(encoder).__name__} reads texts; pass texts=[…], one per row")
    return as_texts(texts, n_rows=n_rows)


def validation_split(Y: Csr, share: float, seed: int) -> tuple[Int32, Int32]:
    """Rows to train on and rows to choose the epoch by; both have labels."""
    rows = np.flatnonzero(np.diff(Y.indptr)).astype(np.int32)
    held = min(int(share * len(rows)), MOST_VALIDATION)
    held = held if held >= FEWEST_VALIDATION else 0
    order = generator(seed, "holdout").permutation(len(rows))
    return np.sort(rows[order[held:]]), np.sort(rows[order[:held]])


def inputs_of(encoder: Encoder, data: TrainingData) -> Inputs:
    """What the encoder reads."""
    return Inputs(texts=data.texts) if encoder.reads == "texts" else Inputs(X=data.X)


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
        inputs = Inputs(texts=texts_for(encoder, texts, None if X is None else int(X.shape[0])))
    else:
        inputs = Inputs(X=as_rows(X, n_features=n_features))
    return encoder.encode(weights, inputs, threads=threads, device=device)


def centroid_features(encoder: Encoder, data: TrainingData, *, threads: int | None, device: str) -> Csr:
    """ψ, the rows that label centroids are sums of: [bow/‖bow‖, φ/‖φ‖] (eq. 14).

    Of a BagEncoder that knows nothing yet, φ is a random projection of bow, so bow alone says the same.
    """
    known = None
    if encoder.reads == "texts":
        known = encoder.first_vectors(Inputs(texts=data.texts), threads=threads, device=device)
    return as_features(concatenate_features(data.X, *(() if known is None else (known,))))
