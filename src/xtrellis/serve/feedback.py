"""What people decide: kept as JSON lines, which `xtrellis train` reads as they are, and offered to the model.

Everything that changes a model by a decision goes through `learn` here.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..tagger import Tagger
from .messages import encoded
from .models import open_tagger

Decision = dict[str, Any]


class Journal:
    """A file of decisions for each model. Lines of several workers never mix: each is written by one call."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def path(self, model: str) -> Path:
        """Ids of models are plain names, so this leads nowhere else."""
        return self._folder / f"{model}.jsonl"

    def append(self, model: str, decisions: Sequence[Decision]) -> None:
        """Write them down, on the disk when this returns."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        lines = b"".join(encoded({**decision, "time": now}) + b"\n" for decision in decisions)
        file = os.open(self.path(model), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            left = memoryview(lines)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)


def learn(tagger: Tagger, texts: Sequence[str], labels: Sequence[Sequence[str]]) -> int:
    """Teach the tagger, in place; how many texts it has learned from."""
    tagger.update(list(texts), [list(row) for row in labels])
    return len(texts)


def learn_on_disk(path: str, texts: Sequence[str], labels: Sequence[Sequence[str]]) -> int:
    """Teach the model in a folder: a copy learns and then takes its place, whole; one process at a time."""
    target = Path(path).resolve()
    lock = os.open(target.with_name(f".{target.name}.learning"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tagger = open_tagger(path)
        done = learn(tagger, texts, labels)
        if done:
            tagger.save(path)
        return done
    finally:
        os.close(lock)
