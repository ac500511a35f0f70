"""`NameScorer`: what a match is worth, learned on training rows; plain arrays for the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from .._native import names as native
from ..arrays import Array, Float64, Int32
from ..core import StoreError
from .curves import Curves
from .features import KINDS, N_LABEL

SMOOTHING = 4.0  # matches that the general estimate counts as


class NameScorer:
    """Curves, and for each label its rows, the rows that its name was found in, and those of them that have it."""

    def __init__(self, curves: Curves, rows: Int32, matches: Int32, hits: Int32, general: Float64) -> None:
        self.curves, self.rows, self.matches, self.hits, self.general = curves, rows, matches, hits, general

    @cached_property
    def native(self) -> native.Scorer:
        """The kernel's view; labels of equal scores come by their frequency, then by id."""
        order = np.lexsort((np.arange(len(self.rows)), -self.rows.astype(np.int64)))
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order))
        at, values, used, bias = self.curves
        return native.Scorer(
            at=at, values=values, used=used, bias=bias, rows=self.rows, matches=self.matches, hits=self.hits,
            general=self.general, smoothing=SMOOTHING, ranks=ranks,
        )  # fmt: skip

    @property
    def of_unseen(self) -> NameScorer:
        """The same curves, where no label has a row."""
        rows, counts = np.zeros_like(self.rows), np.zeros_like(self.matches)
        return NameScorer(self.curves, rows, counts, counts, self.general)

    def label_features(self, kind: Array, label: Array, own: Array | None = None, has: Array | None = None) -> Array:
        """What is known of the labels of some matches; `own`: rows that count in it but shall not, `has` their label.

        As the kernel has it (native/names/score.hpp).
        """
        own = np.zeros(len(label), np.bool_) if own is None else own
        has = np.zeros(len(label), np.bool_) if has is None else has
        rows = np.maximum(self.rows[label].astype(np.float64) - (own & has), 0.0)
        known = rows > 0
        matches = np.where(known, np.maximum(self.matches[kind, label].astype(np.float64) - own, 0.0), 0.0)
        hits = np.where(known, np.maximum(self.hits[kind, label].astype(np.float64) - (own & has), 0.0), 0.0)
        return features_of(np.minimum(hits, matches), matches, rows, self.general[kind])

    def to_arrays(self) -> dict[str, Array]:
        """For the store."""
        return {
            "curves.at": self.curves.at,
            "curves.values": self.curves.values,
            "curves.used": self.curves.used,
            "curves.bias": self.curves.bias,
            "labels.rows": self.rows,
            "labels.matches": self.matches,
            "labels.hits": self.hits,
            "general": self.general,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_labels: int) -> NameScorer:
        """From the store, checked."""
        names = [f"curves.{name}" for name in ("at", "values", "used", "bias")]
        missing = [n for n in (*names, "labels.rows", "labels.matches", "labels.hits", "general") if n not in arrays]
        if missing:
            raise StoreError(f"array {missing[0]!r} is missing")
        curves = Curves(*(_whole(arrays[name]) for name in names))
        curves.check()
        rows, general = _whole(arrays["labels.rows"]), _whole(arrays["general"])
        matches, hits = _whole(arrays["labels.matches"]), _whole(arrays["labels.hits"])
        shape = len(KINDS), n_labels
        if any(a.dtype != np.int32 for a in (rows, matches, hits)) or rows.shape != shape[1:]:
            raise StoreError(f"labels.rows must be int32 of {n_labels} labels; matches and hits int32 too")
        if matches.shape != shape or hits.shape != shape or any((a < 0).any() for a in (rows, matches, hits)):
            raise StoreError(f"labels.matches and labels.hits must be counts of shape {shape}")
        if general.dtype != np.float64 or general.shape != shape[:1] or not ((general > 0) & (general < 1)).all():
            raise StoreError(f"general must be {len(KINDS)} float64 between 0 and 1")
        return cls(curves, rows, matches, hits, general)


def features_of(hits: Array, matches: Array, rows: Array, general: Array) -> Array:
    """prior, matched, rows, unseen."""
    p = (hits + SMOOTHING * general) / (matches + SMOOTHING)
    out = np.empty((len(rows), N_LABEL), np.float64)
    out[:, 0], out[:, 1], out[:, 2] = np.log(p / (1 - p)), np.log1p(matches), np.log1p(rows)
    out[:, 3] = rows <= 0
    return out


def _whole(array: Array) -> Array:
    return array if array.flags.aligned and array.flags.c_contiguous else np.array(array, order="C")
