"""Models on disk: a folder with `model.json` and safetensors files, memory-mapped, never pickled (docs/format.md).

Trainings under way lie in folders of their own (`Checkpoint`, `Stages`); large arrays may wait in files (`Scratch`).
"""

from .checkpoint import Checkpoint, discard
from .copies import Content, Copyable, load_files, saved_files
from .describe import Description, describe
from .growing import GrowingArray
from .journal import append_to_journal, journal_line, journal_lock
from .pages import Resident, add_kernel, file_array, let_go, map_file, resident, row_files
from .plain import dump as dump_json
from .plain import parse as parse_json
from .read import load
from .registry import register, resolve
from .scratch import IN_MEMORY, DiskScratch, Scratch
from .stages import Stages
from .state import State, Storable, content_hash
from .swap import target_of
from .write import save

__all__ = [
    "IN_MEMORY", "Checkpoint", "Content", "Copyable", "Description", "DiskScratch", "GrowingArray", "Resident",
    "Scratch", "Stages", "State", "Storable", "add_kernel", "append_to_journal", "content_hash", "describe", "discard",
    "dump_json", "file_array", "journal_line", "journal_lock", "let_go", "load", "load_files", "map_file",
    "parse_json", "register", "resident", "resolve", "row_files", "save", "saved_files", "target_of",
]  # fmt: skip
