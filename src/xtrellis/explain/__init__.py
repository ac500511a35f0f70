"""Why a label got its score: explanations as data, how they look on a console, and the words of a text that did it."""

from .attribution import TYPICAL, log_score, one_step, rank_of, strongest
from .explanation import Explanation, Names, Opinion, Path, Push, Step
from .tag import ExplainedTag

__all__ = [
    "TYPICAL", "ExplainedTag", "Explanation", "Names", "Opinion", "Path", "Push", "Step", "log_score", "one_step",
    "rank_of", "strongest",
]  # fmt: skip
