"""`GrowingArray`: an array in a file without a name that is written piece by piece, and mapped when it is whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..core import StoreError
from .pages import map_file, no_room


class GrowingArray:
    """For what is made row by row and may be larger than memory; TMPDIR says where the file is."""

    def __init__(self, dtype: Any) -> None:
        self._dtype, self._bytes = np.dtype(dtype), 0
        self._file = self._try(lambda: tempfile.TemporaryFile(prefix="xtrellis-"))  # noqa: SIM115  # kept open

    def append(self, piece: Array) -> None:
        """At the end."""
        content = np.ascontiguousarray(piece, self._dtype)
        self._try(lambda: self._file.write(content.data))
        self._bytes += content.nbytes

    def finish(self) -> Array:
        """All pieces as one array, to be read only; the file goes with it."""
        if not self._bytes:
            self._file.close()
            return np.empty(0, self._dtype)
        self._try(self._file.flush)
        with self._file:
            return np.frombuffer(map_file(self._file.fileno(), self._bytes), self._dtype)

    def _try(self, write: Any) -> Any:
        try:
            return write()
        except OSError as error:
            raise StoreError(no_room(Path(tempfile.gettempdir()), error)) from error
