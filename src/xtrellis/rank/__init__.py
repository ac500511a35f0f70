"""What happens to candidates: a second opinion (`Reranked`), calibration, several models together (`Ensemble`)."""

from .calibration import Calibration
from .classifiers import Classifiers
from .ensemble import Ensemble
from .ranker import Ranker
from .reranked import Reranked

__all__ = ["Calibration", "Classifiers", "Ensemble", "Ranker", "Reranked"]
