"""Models on disk: a folder with `model.json` and safetensors files, memory-mapped, never pickled (docs/format.md)."""

from .state import State, Storable

__all__ = ["State", "Storable"]
