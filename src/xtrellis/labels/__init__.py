"""What is known of labels before any model: how often they occur, what their rows look like, how likely one is seen."""

from .entangle import entangle, fuse
from .frequency import FREQUENCIES, code_frequency, label_frequency, prior_offsets
from .narrow import Narrow, is_wide, narrowed
from .propensity import inverse_propensity, propensity_constants
from .space import LabelSpace
from .statistics import SAMPLE_NONZEROS, FeatureCurve, label_feature_count

__all__ = [
    "FREQUENCIES", "SAMPLE_NONZEROS", "FeatureCurve", "LabelSpace", "Narrow", "code_frequency", "entangle", "fuse",
    "inverse_propensity", "is_wide", "label_feature_count", "label_frequency", "narrowed", "prior_offsets",
    "propensity_constants",
]  # fmt: skip
