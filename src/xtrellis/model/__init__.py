"""The contract: `Model`, what it can do (`capabilities`), and what training will take (`Estimate`)."""

from .arguments import check_k, check_label, check_label_ids
from .capabilities import (
    Embeds,
    Estimates,
    Explains,
    Forgets,
    KnowsUnseen,
    LeavesOut,
    Relabels,
    Resumes,
    Scores,
    Updates,
    can_score,
    needs_all_rows,
    restricts,
    why_no_explanation,
    why_no_update,
)
from .estimate import MANIFEST_BYTES, Estimate, one_after_another, with_part
from .features import FeatureModel
from .label_set import LabelSet, label_mask
from .model import Model, require_engine

__all__ = [
    "MANIFEST_BYTES", "Embeds", "Estimate", "Estimates", "Explains", "FeatureModel", "Forgets", "KnowsUnseen",
    "LabelSet", "LeavesOut", "Model", "Relabels", "Resumes", "Scores", "Updates", "can_score", "check_k", "check_label",
    "check_label_ids", "label_mask", "needs_all_rows", "one_after_another", "require_engine", "restricts",
    "why_no_explanation", "why_no_update", "with_part",
]  # fmt: skip
