"""Models on disk: a folder with `model.json` and safetensors files, memory-mapped, never pickled (docs/format.md).

Trainings under way lie in folders of their own (`Checkpoint`, `Stages`); large arrays may wait in files (`Scratch`).
"""

from .checkpoint import Checkpoint, discard
from .copies import Copyable
from .describe import Description, describe
from .read import load
from .registry import register, resolve
from .scratch import IN_MEMORY, DiskScratch, Scratch
from .stages import Stages
from .state import State, Storable
from .swap import target_of
from .write import save

__all__ = [
    "IN_MEMORY", "Checkpoint", "Copyable", "Description", "DiskScratch", "Scratch", "Stages", "State", "Storable",
    "describe", "discard", "load", "register", "resolve", "save", "target_of",
]  # fmt: skip
