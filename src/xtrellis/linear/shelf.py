"""Where finished segments wait until the model is packed: in memory, or in a folder."""

from __future__ import annotations

from ..types import Array


class Shelf:
    """The simplest: nothing is stored, what is put stays in memory with its owner."""

    def get(self, name: str) -> dict[str, Array] | None:
        """The arrays stored under `name`, if any."""
        return None

    def put(self, name: str, arrays: dict[str, Array]) -> dict[str, Array]:
        """Store arrays; returns what to go on with: the same, or others of equal content that take no memory."""
        return arrays


NO_SHELF = Shelf()
