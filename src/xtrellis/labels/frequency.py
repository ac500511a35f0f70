"""How many rows carry each label."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_labels
from ..types import Int64


def label_frequency(Y: Any) -> Int64:
    """The number of rows that carry each label; explicit zeros do not count."""
    Y = as_labels(Y)
    return np.bincount(Y.indices, minlength=int(Y.shape[1])).astype(np.int64)
