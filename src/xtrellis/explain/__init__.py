"""Why a label got its score: explanations as data, how they look on a console, and the words of a text that did it."""

from .attribution import TYPICAL, log_score, one_step, rank_of, strongest
from .explanation import Explanation, Names, Opinion, Path, Push, Step
from .matches import FoundWord, NameMatch, Reason
from .neighbor import Neighbor, Shared
from .tag import ExplainedTag
from .verdict import Testimony, Verdict

__all__ = [
    "TYPICAL", "ExplainedTag", "Explanation", "FoundWord", "NameMatch", "Names", "Neighbor", "Opinion", "Path", "Push",
    "Reason", "Shared", "Step", "Testimony", "Verdict", "log_score", "one_step", "rank_of", "strongest",
]  # fmt: skip
