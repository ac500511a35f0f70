"""What a regulariser of label vectors does to them: do their products follow how labels occur together?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...arrays import Csr, Float32, Float64, Int64, TopK, for_scipy
from ...neural import Glas

MOST_LABELS = 10_000  # all pairs of labels are looked at
PIECE = 512


class Meetings(NamedTuple):
    """Pairs of different labels that share rows, and how likely two draws of a batch are this pair (algorithm 2)."""

    a: Int64
    b: Int64
    alike: Float64  # u of eq. 3
    weights: Float64
    drawn: Float64  # how likely a draw is each label

    @classmethod
    def of(cls, Y: Csr) -> Meetings:
        """From the labels of training rows, one of which is drawn a row."""
        matrix = sp.csr_array(for_scipy(Y), dtype=np.float64)
        matrix.data[:] = 1.0
        shares = sp.diags_array(1 / np.maximum(np.diff(matrix.indptr), 1)) @ matrix
        drawn = np.asarray(shares.sum(axis=0)).ravel()
        drawn /= max(float(drawn.sum()), 1e-12)
        counts = np.asarray(matrix.sum(axis=0)).ravel()
        pairs = sp.csr_array(matrix.T @ matrix).tocoo()
        a, b = (ids.astype(np.int64) for ids in pairs.coords)
        apart = a != b
        a, b, both = a[apart], b[apart], pairs.data[apart]
        return cls(a, b, 0.5 * (both / counts[a] + both / counts[b]), drawn[a] * drawn[b], drawn)

    @property
    def differ(self) -> float:
        """How likely two draws are different labels."""
        return max(1 - float((self.drawn**2).sum()), 1e-12)


def asked(Y: Csr) -> dict[str, float]:
    """What GLaS asks of label vectors beyond spread-out, which asks for products of 0: nothing where labels share no
    rows, and little where similarities are small. Of two draws that are different labels: how often they share rows,
    how alike they are then, and the root mean square of the similarity over all."""
    met = Meetings.of(Y)
    total = float(met.weights.sum())
    return {
        "share of pairs that meet": total / met.differ,
        "similarity of pairs that meet": float((met.weights * met.alike).sum()) / max(total, 1e-12),
        "root mean square similarity": (float((met.weights * met.alike**2).sum()) / met.differ) ** 0.5,
    }


def structure(vectors: Float32, Y: Csr) -> dict[str, float]:
    """Label vectors against co-occurrence, pairs weighted as batches of sampled labels meet them.

    `glas penalty` is eq. 3 over all training labels; the cosine and similarity of pairs that share rows; how much both
    go together over these pairs (correlation); and the mean squared cosine of pairs that share none.
    """
    met = Meetings.of(Y)
    cosines = np.einsum("ij,ij->i", vectors[met.a], vectors[met.b]).astype(np.float64)
    gram = vectors.T.astype(np.float64) @ (vectors * met.drawn[:, None])
    own = met.drawn * np.einsum("ij,ij->i", vectors, vectors)
    others = float((gram * gram).sum() - (own * own).sum() - (met.weights * cosines**2).sum())  # pairs that share none
    total = max(float(met.weights.sum()), 1e-12)

    def mean(values: Float64) -> float:
        return float((met.weights * values).sum()) / total

    cosine, alike = mean(cosines), mean(met.alike)
    variances = mean((cosines - cosine) ** 2) * mean((met.alike - alike) ** 2)
    return {
        "glas penalty": others + total * mean((cosines - met.alike) ** 2),
        "cosine of pairs that meet": cosine,
        "similarity of pairs that meet": alike,
        "correlation": mean((cosines - cosine) * (met.alike - alike)) / max(variances**0.5, 1e-12),
        "squared cosine of others": others / max(met.differ - total, 1e-12),
    }


def by_cosines(model: Glas, X: Any, k: int) -> TopK:
    """The k best labels by cosine alone, whatever prior the model has."""
    vectors, inputs = model.label_vectors, model.embed(X)
    labels = np.empty((len(inputs), min(k, len(vectors))), np.int32)
    scores = np.empty(labels.shape, np.float32)
    for first in range(0, len(inputs), PIECE):
        products = inputs[first : first + PIECE] @ vectors.T
        best = np.argsort(-products, axis=1, kind="stable")[:, : labels.shape[1]]
        labels[first : first + PIECE] = best
        scores[first : first + PIECE] = np.take_along_axis(products, best, axis=1)
    return TopK(labels, scores, len(vectors))
