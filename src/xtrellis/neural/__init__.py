"""Models with dense embeddings. Importing this loads no torch; training needs it (extra `deep`)."""

from .glas import Glas

__all__ = ["Glas"]
