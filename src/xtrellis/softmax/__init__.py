"""Averaged embeddings with hierarchical softmax over label trees."""

from .model import SoftmaxTree
from .network import SoftmaxNetwork
from .training import Descent

__all__ = ["Descent", "SoftmaxNetwork", "SoftmaxTree"]
