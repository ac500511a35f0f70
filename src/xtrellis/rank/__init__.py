"""What happens to candidates: a second opinion (`Reranked`), calibration, several models together (`Ensemble`)."""

from .blend import Blend
from .boosting import Growth, SymmetricTrees
from .calibration import Calibration
from .classifiers import Classifiers
from .ensemble import Ensemble
from .probabilities import Probabilities, best_cut
from .ranker import Ranker
from .reranked import Reranked

__all__ = [
    "Blend", "Calibration", "Classifiers", "Ensemble", "Growth", "Probabilities", "Ranker", "Reranked",
    "SymmetricTrees", "best_cut",
]  # fmt: skip
