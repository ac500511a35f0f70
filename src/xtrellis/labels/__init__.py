"""What is known of labels before any model: how often they occur, what their rows look like, how likely one is seen."""

from .entangle import entangle, fuse
from .frequency import FREQUENCIES, code_frequency, label_frequency
from .propensity import inverse_propensity, propensity_constants
from .space import LabelSpace
from .statistics import FeatureCurve, label_feature_count

__all__ = [
    "FREQUENCIES", "FeatureCurve", "LabelSpace", "code_frequency", "entangle", "fuse", "inverse_propensity",
    "label_feature_count", "label_frequency", "propensity_constants",
]  # fmt: skip
