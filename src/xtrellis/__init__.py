"""xtrellis: extreme multi-label classification — the few right labels among thousands to millions.

Public names load on first use, so that `import xtrellis` costs next to nothing and never loads torch. The one list of
them is `__init__.pyi`, which is also what type checkers read.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Public name -> the room that offers it ("": it is a room itself). What users may rely on.
_PUBLIC = {
    name: room
    for room, name in re.findall(r"from \.(\w*) import (\w+) as", Path(__file__).with_suffix(".pyi").read_text())
}
__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'xtrellis' has no attribute {name!r}")
    room = _PUBLIC[name]
    value = getattr(import_module(f".{room}", __name__), name) if room else import_module(f".{name}", __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
