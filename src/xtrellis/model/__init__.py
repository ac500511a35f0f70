"""The contract: `Model`, what it can do (`capabilities`), and what training will take (`Estimate`)."""

from .arguments import check_k, check_label, check_label_ids
from .capabilities import Embeds, Estimates, Explains, Resumes, Scores, can_score, restricts, why_no_explanation
from .estimate import Estimate, one_after_another, with_part
from .features import FeatureModel
from .label_set import LabelSet
from .model import Model

__all__ = [
    "Embeds", "Estimate", "Estimates", "Explains", "FeatureModel", "LabelSet", "Model", "Resumes", "Scores",
    "can_score", "check_k", "check_label", "check_label_ids", "one_after_another", "restricts",
    "why_no_explanation", "with_part",
]  # fmt: skip
