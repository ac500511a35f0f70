"""Why training rows vote for a label: which ones, how similar they are, by which features."""

from __future__ import annotations

import numpy as np

from ..arrays import Csr
from ..explain import Explanation, Neighbor, Shared, rank_of
from .index import RowIndex


def explain(index: RowIndex, row: Csr, label: int, *, neighbors: int, power: float, weights: np.ndarray) -> Explanation:
    """All neighbours, the most similar first; of each, whether it has the label."""
    top = index.vote(row, index.n_labels, neighbors=neighbors, power=power, weights=weights, threads=1)
    rank, score = rank_of(top.labels[0], top.scores[0], label)
    near = index.nearest(row, neighbors, threads=1)
    found = next(iter(near))
    with np.errstate(all="ignore"):  # a damaged model may hold anything
        votes = np.array([similarity for _, similarity in found], np.float64) ** power
        shares = votes / votes.sum() if len(votes) else votes
    return Explanation(
        label=label, n_labels=index.n_labels, n_trees=1, beam=None, search="neighbors", score=score, rank=rank,
        n_found=int((top.labels[0] >= 0).sum()), paths=(),
        neighbors=tuple(
            _neighbor(index, row, number, float(share), label) for (number, _), share in zip(found, shares, strict=True)
        ),
        label_weight=float(weights[label]) if len(weights) else 1.0,
    )  # fmt: skip


def _neighbor(index: RowIndex, row: Csr, number: int, share: float, label: int) -> Neighbor:
    segment, place = index.place(number)
    columns, values = segment.features_of(place)
    _, ours, theirs = np.intersect1d(row.indices, columns, assume_unique=True, return_indices=True)
    products = row.data[ours].astype(np.float64) * values[theirs]
    order = np.lexsort((row.indices[ours], -np.abs(products)))
    shared = tuple(
        Shared(int(row.indices[ours[i]]), float(row.data[ours[i]]), float(values[theirs[i]]), float(products[i]))
        for i in order.tolist()
        if products[i] != 0
    )
    labels = tuple(one for one in segment.labels_of(place).tolist() if 0 <= one < index.n_labels)
    text = None if segment.texts is None else segment.texts[place]
    return Neighbor(
        row=number, similarity=sum(one.contribution for one in shared), share=share, votes=label in labels,
        labels=labels, shared=shared, text=text,
    )  # fmt: skip
