"""Small data sets: names may be lists here, as they may everywhere but in the declared types."""

from __future__ import annotations

from typing import Any

import xtrellis as xt


def dataset(X: Any, Y: Any, **more: Any) -> xt.Dataset:
    """`xt.Dataset`, which makes tables of lists itself."""
    return xt.Dataset(X, Y, **more)
