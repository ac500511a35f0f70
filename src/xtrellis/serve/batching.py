"""Requests that arrive together are answered together, and a lone one at once.

Texts wait only until the event loop has read whatever else has arrived in the same moment: `call_soon`, some
microseconds. Then all of them go through the model as one batch, which costs a fraction of as many single calls. What
will be quick (it is measured) is done right there; what takes longer goes to a thread, and texts that arrive meanwhile
are the next batch. A text whose client has left by then is not looked at.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ..tagger import Tags, asked_for
from .counters import Counters
from .messages import Request
from .models import Served, Version

INLINE = 0.002  # seconds of work that the event loop does itself
BLOCK = 0.05  # seconds of work in one batch, about: others wait as long
FEWEST, MOST = 512, 4096  # texts of a block: fewer cost more each
EACH = 200  # characters that a text counts for beside its own
FEW = 4  # texts that are quicker one by one than as a matrix
SLOWER = 0.2  # weight of the newest measurement


class Options(NamedTuple):
    """What is asked of all texts of a request."""

    k: int = 5
    threshold: float | str | None = None
    guess: bool = False


class Found(NamedTuple):
    """The answers to one text, as numbers of labels; `version` knows their names."""

    labels: list[int]
    scores: list[float]
    chances: list[float] | None
    reason: str | None
    version: Version

    def tags(self) -> list[dict[str, Any]]:
        """As answers have them."""
        known, rows = self.version.labels, zip(self.labels, self.scores, self.chances or self.scores, strict=True)
        if self.chances is None:
            return [{"id": known.id(i), "label": known.name(i), "score": s, "probability": None} for i, s, _ in rows]
        return [{"id": known.id(i), "label": known.name(i), "score": s, "probability": p} for i, s, p in rows]

    def to_dict(self) -> dict[str, Any]:
        """With the reason, if there is one."""
        return {"tags": self.tags()} if self.reason is None else {"tags": [], "reason": self.reason}


class Job:
    """Texts of one request that wait."""

    __slots__ = ("future", "options", "request", "size", "texts")

    def __init__(self, texts: Sequence[str], options: Options, request: Request, future: asyncio.Future[Any]) -> None:
        self.texts, self.options, self.request, self.future = texts, options, request, future
        self.size = sum(map(len, texts)) + EACH * len(texts)


class Batcher:
    """The queue before one model."""

    def __init__(self, served: Served, counters: Counters, loop: asyncio.AbstractEventLoop) -> None:
        self.served, self._counters, self._loop = served, counters, loop
        self._waiting: deque[Job] = deque()
        self._scheduled = False
        self._working = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"tag-{served.id}")

    def ask(self, texts: Sequence[str], options: Options, request: Request) -> asyncio.Future[list[Found]]:
        """Answers to come, in the order of the texts; cancelled if the client leaves first."""
        future: asyncio.Future[list[Found]] = self._loop.create_future()
        self._waiting.append(Job(texts, options, request, future))
        self._schedule()
        return future

    def block(self) -> int:
        """How many texts of a long list to ask for at a time, by how long they take."""
        return max(FEWEST, min(MOST, int(BLOCK / (self.served.version.rate * 2 * EACH))))

    def close(self) -> None:
        """No more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _schedule(self) -> None:
        if not self._scheduled and not self._working:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        version = self.served.version
        jobs, size = [], 0
        while self._waiting and size * version.rate < BLOCK:
            job = self._waiting.popleft()
            if job.request.gone:
                job.future.cancel()
                self._counters.add("cancelled")
            else:
                jobs.append(job)
                size += job.size
        if not jobs:
            return
        if size * version.rate < INLINE:
            self._done(jobs, answer_jobs(version, jobs))
        else:
            self._working += 1
            running = self._loop.run_in_executor(self._thread, answer_jobs, version, jobs)
            running.add_done_callback(lambda ended: self._finished(jobs, ended))
        if self._waiting:
            self._schedule()

    def _finished(self, jobs: list[Job], ended: asyncio.Future[Any]) -> None:
        self._working -= 1
        if ended.cancelled():
            for job in jobs:
                job.future.cancel()
            return
        self._done(jobs, ended.result())
        if self._waiting:
            self._schedule()

    def _done(self, jobs: list[Job], outcomes: list[list[Found] | Exception]) -> None:
        n_texts = sum(len(job.texts) for job in jobs)
        self._counters.add("batches")
        self._counters.add("texts", n_texts, key=self.served.id)
        for job, outcome in zip(jobs, outcomes, strict=True):
            if job.future.done():
                continue
            if isinstance(outcome, Exception):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)


def answer_jobs(version: Version, jobs: Sequence[Job]) -> list[list[Found] | Exception]:
    """What each job gets: its answers, or the error that its own texts cause."""
    begun = time.perf_counter()
    outcomes: dict[int, list[Found] | Exception] = {}
    groups: dict[Options, list[int]] = {}
    for i, job in enumerate(jobs):
        groups.setdefault(job.options, []).append(i)
    for options, members in groups.items():
        texts = [text for i in members for text in jobs[i].texts]
        try:
            found = answer(version, texts, options)
        except Exception as error:
            if len(members) > 1:  # whose fault it is: one by one
                alone = [answer_jobs(version, [jobs[i]])[0] for i in members]
                outcomes |= dict(zip(members, alone, strict=True))
            else:
                outcomes[members[0]] = error
            continue
        at = 0
        for i in members:
            outcomes[i] = found[at : at + len(jobs[i].texts)]
            at += len(jobs[i].texts)
    spent, size = time.perf_counter() - begun, sum(job.size for job in jobs)
    version.rate += SLOWER * (spent / max(1, size) - version.rate)
    return [outcomes[i] for i in range(len(jobs))]


def answer(version: Version, texts: Sequence[str], options: Options) -> list[Found]:
    """`Tagger.tag` for each text, as numbers; a few go one by one, which is quicker, and gives the same."""
    tagger, (k, threshold, guess) = version.tagger, options
    if len(texts) < FEW:
        return [_one(version, tagger.tag(text, k, threshold=threshold, guess=guess)) for text in texts]
    top = tagger.predict(texts, asked_for(k, threshold), guess=guess)
    kept, chances = tagger.cut(top, threshold), tagger.probabilities(top)
    labels, scores = kept.labels.tolist(), top.scores.tolist()
    likely = None if chances is None else chances.scores.tolist()
    silent = set() if guess else set(np.flatnonzero((top.labels < 0).all(axis=1)).tolist())
    found = []
    for i, row in enumerate(labels):
        reason = tagger.why_silent(texts[i]) if i in silent else None
        if -1 in row:
            places = [j for j, label in enumerate(row) if label >= 0][:k]
            mine = [row[j] for j in places]
            points = [scores[i][j] for j in places]
            chance = None if likely is None else [likely[i][j] for j in places]
        else:
            mine, points, chance = row[:k], scores[i][:k], None if likely is None else likely[i][:k]
        found.append(Found(mine, points, chance, reason, version))
    return found


def _one(version: Version, tags: Tags) -> Found:
    find = version.labels.number
    known = bool(tags) and tags[0].probability is not None
    chances = [tag.probability or 0.0 for tag in tags] if known else None
    return Found([find(tag.id) for tag in tags], [tag.score for tag in tags], chances, tags.reason, version)
