"""Rows, features and labels."""

from .dataset import Dataset

__all__ = ["Dataset"]
