"""What happens to candidates: a second opinion (`Reranked`), calibration, several models together (`Ensemble`)."""

from __future__ import annotations

from .ensemble import Ensemble
from .ranker import Ranker
from .reranked import Reranked

__all__ = ["Ensemble", "Ranker", "Reranked"]
