"""A training that is made of trainings (an encoder and a tree, the members of an ensemble) and can go on after a kill.

FOLDER/checkpoint.json    what it is made from
FOLDER/base.model/        a finished part, as a model folder
FOLDER/ranker.part/       the checkpoint of the part under way
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..arrays import Array
from ..core import StoreError, progress
from .checkpoint import Checkpoint, discard
from .read import load
from .state import Storable
from .write import save

if TYPE_CHECKING:
    from typing_extensions import Self

S = TypeVar("S", bound=Storable)


class Stages:
    """Use as a context; without a path nothing is kept."""

    def __init__(self, path: str | os.PathLike[str] | None, made_from: Mapping[str, Any]) -> None:
        self._saved = None if path is None else Checkpoint(path, made_from)

    def __enter__(self) -> Self:
        if self._saved is not None:
            self._saved.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._saved is not None:
            self._saved.__exit__(kind, value, trace)

    def made(self, name: str, kind: type[S], make: Callable[[Path | None], S]) -> S:
        """A part: as it was finished before the kill, or made now by a function that is told where its checkpoint is.

        What is read is mapped from files that may be deleted soon; their content lives until it is let go.
        """
        if self._saved is None:
            return make(None)
        at = self._saved.path / f"{name}.model"
        if at.is_dir():
            try:
                found: S = load(at, verify=True, kind=kind)
            except StoreError as error:
                progress.note(f"a damaged part of the checkpoint is made again ({error})")
            else:
                progress.note(f"{name}: finished before")
                return found
        inner = self._saved.path / f"{name}.part"
        out = make(inner)
        save(out, at)
        discard(inner)
        return out

    def arrays(self, name: str, make: Callable[[Path | None], dict[str, Array]]) -> dict[str, Array]:
        """The same for a part that is a few arrays."""
        if self._saved is None:
            return make(None)
        found = self._saved.get(f"state.{name}")
        if found is None:
            inner = self._saved.path / f"{name}.part"
            found = make(inner)
            self._saved.put(f"state.{name}", found)
            discard(inner)
        return found
