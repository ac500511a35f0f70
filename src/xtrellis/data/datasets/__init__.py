"""Data sets that need no download: `load("pydocs")`."""

from __future__ import annotations

from ...core import ParameterError, clear_calls, nearest, shown
from . import pydocs
from .pydocs import Split

_LOADERS = {"pydocs": pydocs.load}

__all__ = ["Split", "load", "names"]


def names() -> list[str]:
    """What `load` knows."""
    return sorted(_LOADERS)


@clear_calls
def load(name: str) -> Split:
    """A data set by name, as `.train` and `.test`."""
    if not isinstance(name, str):
        raise ParameterError(f"name must be the name of a data set; got {shown(name)}")
    if name not in _LOADERS:
        raise ParameterError(f"there is no data set {shown(name)}{nearest(name, _LOADERS)}")
    return _LOADERS[name]()
