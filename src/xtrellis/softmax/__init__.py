"""Averaged embeddings with hierarchical softmax over label trees."""

from .model import SoftmaxTree
from .network import Network

__all__ = ["Network", "SoftmaxTree"]
