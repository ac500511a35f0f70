"""An encoder and one classifier for every label, all of them asked."""

from .model import EncoderOvA, ova_settings
from .task import LOSSES, OvATask

__all__ = ["LOSSES", "EncoderOvA", "OvATask", "ova_settings"]
