"""Models as they are served: loaded, watched, and replaced while requests go on.

Every request is answered by one `Version` from its beginning to its end. A folder that was replaced is loaded beside
the old version, which answers until the new one is whole and has answered once; what cannot be loaded changes nothing.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core import InputError, StoreError, XtrellisError
from ..model import Model, why_no_explanation
from ..store import describe, load
from ..tagger import Tagger
from .names import Labels, TreeView, tree_of

Fingerprint = tuple[Any, ...]
WARM = "a text that the model is warmed up with"
EACH = 200  # characters that a text counts for beside its own
STEP = 1.2  # by which what is known follows a measurement


def size_of(texts: Sequence[str]) -> int:
    """The work that some texts are, about, in characters."""
    return sum(map(len, texts)) + EACH * len(texts)


class Pace:
    """Seconds a character of one version of a model.

    A call has a price of its own, beside which a short text costs little: what was measured is kept by how many texts
    there were, in powers of two; what has not been seen yet goes by fewer texts, which errs on the slow side.
    """

    def __init__(self, alone: float) -> None:
        self._rates: dict[int, float] = {1: alone}  # by the number of binary digits of how many texts there were

    def rate(self, n_texts: int) -> float:
        """Seconds a character, where there are so many texts."""
        digits = n_texts.bit_length()
        while digits > 1 and digits not in self._rates:
            digits -= 1
        return self._rates[max(1, digits)]

    def expected(self, n_texts: int, size: int) -> float:
        """Seconds that so many texts will take together."""
        return size * self.rate(n_texts)

    def learn(self, n_texts: int, size: int, seconds: float) -> None:
        """So long they took. What is known goes a step up or down towards it, so it comes to where as many are above
        as below: a call that was held up for long, by another program say, counts no more than one that was late."""
        digits, found = max(1, n_texts.bit_length()), seconds / max(1, size)
        known = self._rates.get(digits)
        if known is None:
            self._rates[digits] = found
        else:
            self._rates[digits] = max(known / STEP, min(known * STEP, found))


def open_tagger(path: str, threads: int | None = None) -> Tagger:
    """The tagger in a folder; refuses what cannot read texts."""
    loaded = load(path)
    tagger = Tagger.of_model(loaded) if isinstance(loaded, Model) else loaded
    if not isinstance(tagger, Tagger):
        raise StoreError(f"{path} holds a {type(loaded).__name__}, which cannot tag")
    if tagger.vectorizer is None:
        raise InputError(
            f"{path} was trained on a feature matrix and cannot read texts; only models that do are served"
        )
    for part in (tagger.vectorizer, tagger.model):
        if threads is not None and "threads" in part.get_params(deep=False):
            part.set_params(threads=threads)
    return tagger


def fingerprint(path: str) -> Fingerprint | None:
    """Changes whenever the folder or a file in it is another one; None if it cannot be looked at."""
    try:
        folder = Path(path).stat()
        with os.scandir(path) as entries:
            files = [
                (e.name, e.inode(), (found := e.stat(follow_symlinks=False)).st_size, found.st_mtime_ns)
                for e in entries
            ]
    except OSError:
        return None
    return (folder.st_dev, folder.st_ino, *sorted(files))


class Version:
    """A model as it was loaded at some time; nothing of it changes."""

    def __init__(self, tagger: Tagger, path: str, number: int) -> None:
        self.tagger, self.path, self.number = tagger, path, number
        self.labels = Labels(tagger)
        self.loaded = datetime.now(timezone.utc)
        self.changed = datetime.fromtimestamp((Path(path) / "model.json").stat().st_mtime, timezone.utc)
        self.pace = Pace(1e-6)
        self.why_no_explanation = why_no_explanation(tagger.model)

    @cached_property
    def tree(self) -> TreeView | None:
        """The label tree, if the model has one."""
        found = tree_of(self.tagger.model)
        return None if found is None else TreeView(found, self.labels)

    @cached_property
    def description(self) -> dict[str, Any]:
        """What the model's folder says of itself, without arrays and hashes."""
        told = describe(self.path).to_dict()
        objects = [{key: one[key] for key in ("name", "class", "params")} for one in told["objects"]]
        kept = {key: told[key] for key in ("class", "format_version", "written_by", "total_size")}
        return {**kept, "objects": objects[:50]}

    @property
    def probabilities(self) -> bool:
        """True if tags have probabilities."""
        return self.tagger.model.answers_probabilities or self.tagger.probability_curves is not None


class Served:
    """A model under its id, in whatever version is there now."""

    def __init__(self, name: str, path: str, *, threads: int | None, listen: Callable[[str, str], None]) -> None:
        self.id, self.path, self._threads, self._listen = name, path, threads, listen
        self._tried = fingerprint(path)
        self.version = self._open(1)
        self.fault: str | None = None
        self._lock = asyncio.Lock()

    def _open(self, number: int) -> Version:
        tagger = open_tagger(self.path, self._threads)
        version = Version(tagger, self.path, number)
        tagger.tag(WARM, guess=True)
        begun = time.perf_counter()
        tagger.tag(WARM, guess=True)
        version.pace = Pace((time.perf_counter() - begun) / size_of([WARM]))
        _ = version.description  # of this very folder, before it is replaced
        return version

    async def refresh(self, *, run: Callable[..., Any]) -> bool:
        """Take up what lies in the folder, if it is new and whole; True if it was."""
        async with self._lock:
            now = fingerprint(self.path)
            if now is None or now == self._tried:
                return False
            try:
                version = await run(self._open, self.version.number + 1)
            except (XtrellisError, OSError, MemoryError) as error:
                self._tried, self.fault = now, str(error)
                self._listen("reload failed", f"{self.id}: {error}; the version before goes on")
                return False
            if fingerprint(self.path) != now:  # replaced once more meanwhile: what was loaded is whole, but look again
                now = ()
            self._tried, self.fault, self.version = now, None, version
            self._listen("reloaded", f"{self.id}: version {version.number}")
            return True


def only(models: Sequence[str]) -> str | None:
    """The id of the only model, if there is one only."""
    return models[0] if len(models) == 1 else None
