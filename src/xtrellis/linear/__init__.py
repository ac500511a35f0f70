"""Sparse linear classifiers over label trees."""

from .model import LinearTree

__all__ = ["LinearTree"]
