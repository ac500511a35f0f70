"""Text of PDF files, read by a process of its own."""

from .reading import available, places, read, text

__all__ = ["available", "places", "read", "text"]
