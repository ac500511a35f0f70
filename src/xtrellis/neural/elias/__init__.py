"""ELIAS: an index of labels that is learned together with the classifiers and the encoder."""

from .graph import clusters_a_label
from .model import Elias
from .network import NEVER, EliasNetwork

__all__ = ["NEVER", "Elias", "EliasNetwork", "clusters_a_label"]
