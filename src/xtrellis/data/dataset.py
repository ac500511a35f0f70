"""Stand-in until the data room is merged: only what data/datasets constructs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..types import Csr


@dataclass(kw_only=True)
class Dataset:
    """Features, labels, texts and names of the same rows."""

    Y: Csr
    X: Csr | None = None
    texts: Sequence[str] | None = None
    label_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    name: str = ""
