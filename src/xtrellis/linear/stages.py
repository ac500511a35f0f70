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

from .. import progress, store
from ..errors import StoreError
from ..store import Storable
from ..types import Array, Csr
from .checkpoint import Checkpoint, discard, fingerprint

if TYPE_CHECKING:
    from typing_extensions import Self

S = TypeVar("S", bound=Storable)


class Stages:
    """Use as a context; without a path nothing is kept. The folder goes when the block ends well."""

    def __init__(
        self, path: str | os.PathLike[str] | None, params: Mapping[str, Any], matrices: Mapping[str, Csr | None]
    ) -> None:
        self._saved = None if path is None else Checkpoint(path, fingerprint(params, matrices))

    def __enter__(self) -> Self:
        if self._saved is not None:
            self._saved.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._saved is None:
            return
        self._saved.__exit__(kind, value, trace)
        if kind is None:
            discard(self._saved.path)

    def part(self, name: str) -> Path | None:
        """Where a part may keep a checkpoint of its own."""
        return None if self._saved is None else self._saved.path / f"{name}.part"

    def made(self, name: str, kind: type[S], make: Callable[[Path | None], S]) -> S:
        """A part: as it was finished before the kill, or made now by a function that is told where its checkpoint is.

        What is read is mapped from files that may be deleted soon; their content lives until it is let go.
        """
        if self._saved is None:
            return make(None)
        at = self._saved.path / f"{name}.model"
        if at.is_dir():
            try:
                found: S = store.load(at, verify=True, kind=kind)
            except StoreError as error:
                progress.note(f"a damaged part of the checkpoint is made again ({error})")
            else:
                progress.note(f"{name}: finished before")
                return found
        out = make(self.part(name))
        store.save(out, at)
        return out

    def arrays(self, name: str, make: Callable[[Path | None], dict[str, Array]]) -> dict[str, Array]:
        """The same for a part that is a few arrays."""
        if self._saved is None:
            return make(None)
        found = self._saved.get(f"state.{name}")
        if found is None:
            found = make(self.part(name))
            self._saved.put(f"state.{name}", found)
        return found
