"""Folders beside a model that is being made: what a stopped training or update has done, for `--resume` to use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import ParameterError
from .. import show

if TYPE_CHECKING:
    from ...model import Model


class Checkpoints:
    """Folders beside the target that finished work goes to, so that `--resume` has something to go on from."""

    def __init__(
        self, to: Path, model: Model, resume: bool, names: Sequence[str] = ("checkpoint", "refit-checkpoint")
    ) -> None:
        from ...model import Resumes
        from ...store import target_of

        self._target, self._resume, self._names = target_of(to), resume, names
        self._able = isinstance(model, Resumes)
        self._opened: list[Path] = []
        if resume and not self._able:
            raise ParameterError(
                f"--resume: {type(model).__name__} cannot go on from a stopped training; start it anew"
            )

    @property
    def places(self) -> list[Path]:
        """Where the folders are, or will be."""
        names = self._names if self._able else ()
        return [self._target.with_name(f"{self._target.name}.{name}") for name in names]

    def open(self, suffix: str, say: show.Say) -> Path | None:
        """The folder for one training: what a stopped one left there is used with --resume and deleted without."""
        from ...store import discard

        if not self._able:
            return None
        path = self._target.with_name(f"{self._target.name}.{suffix}")
        if self._resume:
            say(f"going on from {path}" if path.exists() else f"there is no {path} to go on from; starting anew")
        elif discard(path):
            say(f"deleted {path} of a training that was stopped (--resume goes on from such)")
        self._opened.append(path)
        return path

    def discard(self) -> None:
        """Delete them all: the model is safe."""
        from ...store import discard

        for path in self._opened:
            discard(path)
