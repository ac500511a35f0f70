"""What an object hands to the store and gets back from it."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..core import StoreError

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class State:
    """A fitted object, taken apart.

    `meta` is small JSON (sizes, flags); `arrays` go to safetensors and come back memory-mapped and read-only;
    `parts` are storable objects inside this one (a tagger's vectoriser and model, an ensemble's members).
    """

    meta: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    parts: dict[str, Storable] = field(default_factory=dict)


class Storable(ABC):
    """Anything that can be saved. Parameters come from `Configured.to_config`; the rest is the state."""

    @abstractmethod
    def to_state(self) -> State:
        """The fitted state, without copying arrays."""

    def loaded(self, params: Mapping[str, Any]) -> None:  # noqa: B027 - most have nothing to do then
        """The store has just rebuilt it from a file that held these parameters, as JSON."""

    def journal_lines(self) -> Sequence[str]:
        """What has happened to it since it was trained (journal.py), saved beside it; most have no such thing."""
        return ()

    def replay(self, entries: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> None:
        """The store has just rebuilt it and found a journal beside it: do what it is not yet the result of."""
        raise StoreError(f"a {type(self).__name__} has no journal")

    @classmethod
    @abstractmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """The object again. Must check dtypes, shapes and ranges of what a kernel will trust, and raise StoreError."""


def content_hash(thing: Storable) -> str:
    """A hash of all that it would be saved as, parts and all: the same for the same bytes."""
    digest = hashlib.blake2b(digest_size=16)
    state = thing.to_state()
    digest.update(repr(sorted(state.meta.items())).encode("utf-8", "surrogatepass"))
    for name, array in sorted(state.arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    for name, part in sorted(state.parts.items()):
        digest.update(f"{name} {content_hash(part)}".encode())
    return digest.hexdigest()
