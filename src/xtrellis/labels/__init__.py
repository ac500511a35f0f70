"""What is known about labels before any model: how frequent they are and how likely they are to be seen."""

from .frequency import label_frequency
from .propensity import inverse_propensity, propensity_constants

__all__ = ["inverse_propensity", "label_frequency", "propensity_constants"]
