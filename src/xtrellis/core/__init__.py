"""What every room stands on, in plain Python: errors, parameters and their checks, randomness, threads, progress.

No NumPy here: `xtrellis --help` must answer at once.
"""

from . import progress
from .arguments import as_path, require
from .calls import clear_calls
from .checks import Check, choice, file_path, flag, integer, n_bytes, number, part, size, size_text, text
from .config import Configured, param
from .engine import Engine, current, using
from .errors import (
    CallError,
    DataError,
    InputError,
    MissingExtraError,
    NotFittedError,
    ParameterError,
    StoreError,
    TrainingError,
    XtrellisError,
    nearest,
    shown,
)
from .hints import known_as
from .parallel import by_rows, each, run, spans, thread_count
from .pipeline import staged
from .progress import ProgressEvent, listen
from .rng import generator, key, mix, mix_words

__all__ = [
    "CallError", "Check", "Configured", "DataError", "Engine", "InputError", "MissingExtraError", "NotFittedError",
    "ParameterError", "ProgressEvent", "StoreError", "TrainingError", "XtrellisError", "as_path", "by_rows",
    "choice", "clear_calls", "current", "each", "file_path", "flag", "generator", "integer", "key", "known_as",
    "listen", "mix", "mix_words", "n_bytes", "nearest", "number", "param", "part", "progress", "require", "run",
    "shown", "size", "size_text", "spans", "staged", "text", "thread_count", "using",
]  # fmt: skip
