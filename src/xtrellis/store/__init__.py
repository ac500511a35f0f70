"""Models on disk: a folder with `model.json` and safetensors files, memory-mapped, never pickled (docs/format.md)."""

from .describe import Description, describe
from .read import load
from .state import State, Storable
from .write import save

__all__ = ["Description", "State", "Storable", "describe", "load", "save"]
