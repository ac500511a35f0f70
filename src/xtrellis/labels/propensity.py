"""How likely a relevant label is to have been recorded at all (Jain, Prabhu, Varma 2016).

    1/p_l = 1 + C (N_l + B)^-A        C = (ln N − 1)(B + 1)^A

N rows and N_l of them with label l, both counted in the *training* set. A and B were fitted to a few data sets; the
field has fixed a table of them, and uses one pair for all others.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import InputError, number, text

DEFAULT = (0.55, 1.5)
# Name without case and punctuation -> (A, B). A data set with label features ("LF-") keeps its parent's constants.
_FITTED = {
    r"(lf)?(wikilshtc325k|wikipedia500k)": (0.5, 0.4),
    r"amazon(670k|3m)": (0.6, 2.6),
    r"lfamazon.*": (0.6, 2.6),
}


def propensity_constants(dataset: str | None) -> tuple[float, float]:
    """A and B as papers use them for the data set of this name; (0.55, 1.5) for any other."""
    text(or_none=True)("dataset", dataset)
    plain = re.sub(r"[^a-z0-9]", "", (dataset or "").lower())
    return next((pair for pattern, pair in _FITTED.items() if re.fullmatch(pattern, plain)), DEFAULT)


def inverse_propensity(
    frequency: Any, n_rows: int, *, A: float = DEFAULT[0], B: float = DEFAULT[1]
) -> NDArray[np.float64]:
    """1/p of each label, from its number of training rows (`label_frequency(Y)`) and the number of all of them."""
    number(at_least=0)("A", A)
    number(above=0)("B", B)
    if n_rows < 3:
        raise InputError(f"propensities need a training set of at least 3 rows (ln N must exceed 1); got {n_rows}")
    seen = np.asarray(frequency, np.float64)
    if seen.ndim != 1 or (seen < 0).any() or (seen > n_rows).any():
        raise InputError(f"frequency must be one count per label, between 0 and the {n_rows} rows")
    weights: NDArray[np.float64] = 1 + (math.log(n_rows) - 1) * (B + 1) ** A * (seen + B) ** -A
    return weights
