"""Features of several kinds side by side: words and dense vectors, each of unit length, so that both have a say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse as sp

from ..core import InputError, clear_calls, flag, shown
from .csr import MAX_ID, for_scipy, unit_rows
from .inputs import as_features
from .numbers import as_numbers
from .types import Csr


@clear_calls
def concatenate_features(*blocks: Any, unit: bool = True, weights: Sequence[float] | None = None) -> Csr:
    """n×d matrices, sparse or dense, as one sparse n×(d₁+d₂+…): [bow/‖bow‖, φ/‖φ‖] of ELIAS (eq. 16) for two.

    With `unit` every row of every block is scaled to length 1 (rows of zeros stay); then blocks are multiplied by their
    `weights`. A dense block costs 8 bytes a value. Every model takes the result like any other features.
    """
    flag()("unit", unit)
    if not blocks:
        raise InputError("concatenate_features needs at least one matrix")
    checked = [as_features(block, name=f"block {i}") for i, block in enumerate(blocks)]
    rows = sorted({int(block.shape[0]) for block in checked})
    if len(rows) != 1:
        raise InputError(f"all blocks must have the same number of rows; got {rows}")
    if sum(int(block.shape[1]) for block in checked) > MAX_ID:
        raise InputError(f"all blocks together must have at most {MAX_ID} columns")
    if unit:
        checked = [unit_rows(block) for block in checked]
    parts = [for_scipy(block) for block in checked]
    if weights is not None:
        what = f"one finite number for each of {len(parts)} blocks"
        factors = as_numbers(weights, "weights", what)
        if factors.shape != (len(parts),) or not np.isfinite(factors).all():
            raise InputError(f"weights must be {what}; got {shown(weights)}")
        parts = [
            block if weight == 1 else block * np.float32(weight)
            for block, weight in zip(parts, factors.tolist(), strict=True)
        ]
    joined = sp.hstack(parts, format="csr", dtype=np.float32)
    return for_scipy(as_features(joined))
