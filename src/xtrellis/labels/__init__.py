"""What is known of labels: how often they occur, what their rows look like."""

from .space import LabelSpace

__all__ = ["LabelSpace"]
