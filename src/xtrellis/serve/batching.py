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

from ..arrays import TopK
from ..tagger import asked_for
from .counters import Counters
from .messages import Request, encoded
from .models import EACH, Served, Version, size_of
from .names import Spoken

INLINE = 0.002  # seconds of work that the event loop does itself
BLOCK = 0.05  # seconds of work in one batch, about: others wait as long
FEWEST, MOST = 1024, 4096  # texts of a block: fewer cost more each


class Options(NamedTuple):
    """What is asked of all texts of a request."""

    k: int = 5
    threshold: float | str | None = None
    guess: bool = False
    languages: tuple[str, ...] = ()


class Found(NamedTuple):
    """The answers to one text, as numbers of labels; `spoken` knows what they are called."""

    labels: list[int]
    scores: list[float]
    chances: list[float] | None
    reason: str | None
    version: Version
    spoken: Spoken

    def tags(self) -> list[dict[str, Any]]:
        """As answers have them."""
        called = self.spoken.called
        chances: Sequence[float | None] = self.chances or [None] * len(self.labels)
        return [
            {"id": names[0], "label": names[1], "score": score, "probability": chance}
            for names, score, chance in zip(map(called, self.labels), self.scores, chances, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """With the reason, if there is one."""
        return {"tags": self.tags()} if self.reason is None else {"tags": [], "reason": self.reason}


Outcome = list[Found] | bytes | Exception


class Job:
    """Texts of one request that wait for a version of the model. Answers are `Found`, or lines of JSON (bytes)."""

    __slots__ = ("ids", "lines", "options", "size", "texts", "version")

    def __init__(
        self,
        version: Version,
        texts: Sequence[str],
        options: Options,
        *,
        lines: bool = False,
        ids: Sequence[Any] | None = None,
    ) -> None:
        self.version, self.texts, self.options, self.lines, self.ids = version, texts, options, lines, ids
        self.size = size_of(texts)

    @property
    def gone(self) -> bool:
        """True if nobody waits any more."""
        raise NotImplementedError

    def cancel(self) -> None:
        """It will not be looked at."""
        raise NotImplementedError

    def settle(self, outcome: Outcome) -> None:
        """Its answers, or what went wrong."""
        raise NotImplementedError


class Awaited(Job):
    """A job whose request's handler awaits the answers."""

    __slots__ = ("_request", "future")

    def __init__(self, request: Request, future: asyncio.Future[Any], *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._request, self.future = request, future

    @property
    def gone(self) -> bool:
        """True if the client has left."""
        return self._request.gone

    def cancel(self) -> None:
        """The handler hears of it."""
        self.future.cancel()

    def settle(self, outcome: Outcome) -> None:
        """Unless the handler is gone."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


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
        self.wait(Awaited(request, future, self.served.version, texts, options))
        return future

    def ask_lines(
        self, version: Version, texts: Sequence[str], options: Options, request: Request, ids: Sequence[Any] | None
    ) -> asyncio.Future[bytes]:
        """Answers to come as a line of JSON each, by this version: that of the request's beginning."""
        future: asyncio.Future[bytes] = self._loop.create_future()
        self.wait(Awaited(request, future, version, texts, options, lines=True, ids=ids))
        return future

    def wait(self, job: Job) -> None:
        """Be answered with whatever else is there."""
        self._waiting.append(job)
        self._schedule()

    def block(self) -> int:
        """How many texts of a long list to ask for at a time, by how long they take."""
        return max(FEWEST, min(MOST, int(BLOCK / (self.served.version.pace.rate(MOST) * 2 * EACH))))

    def close(self) -> None:
        """No more work."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _schedule(self) -> None:
        if not self._scheduled and not self._working:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        pace = self.served.version.pace
        jobs, n_texts, size = [], 0, 0
        while self._waiting and pace.expected(n_texts, size) < BLOCK:
            job = self._waiting.popleft()
            if job.gone:
                job.cancel()
                self._counters.add("cancelled")
            else:
                jobs.append(job)
                n_texts += len(job.texts)
                size += job.size
        if not jobs:
            return
        if pace.expected(n_texts, size) < INLINE:
            self._done(jobs, answer_jobs(jobs))
        else:
            self._working += 1
            running = self._loop.run_in_executor(self._thread, answer_jobs, jobs)
            running.add_done_callback(lambda ended: self._finished(jobs, ended))
        if self._waiting:
            self._schedule()

    def _finished(self, jobs: list[Job], ended: asyncio.Future[Any]) -> None:
        self._working -= 1
        if ended.cancelled():
            for job in jobs:
                job.cancel()
            return
        self._done(jobs, ended.result())
        if self._waiting:
            self._schedule()

    def _done(self, jobs: list[Job], outcomes: list[Outcome]) -> None:
        n_texts = sum(len(job.texts) for job in jobs)
        self._counters.add("batches")
        self._counters.add("texts", n_texts, key=self.served.id)
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.settle(outcome)


def answer_jobs(jobs: Sequence[Job]) -> list[Outcome]:
    """What each job gets: its answers, or the error that its own texts cause."""
    if len(jobs) == 1:
        return [_answer(jobs[0])]
    outcomes: dict[int, Outcome] = {}
    groups: dict[tuple[int, Options], list[int]] = {}
    for i, job in enumerate(jobs):
        groups.setdefault((id(job.version), job.options), []).append(i)
    for members in groups.values():
        if len(members) == 1:
            outcomes[members[0]] = _answer(jobs[members[0]])
            continue
        begun, at = time.perf_counter(), 0
        texts = [text for i in members for text in jobs[i].texts]
        try:
            batch = Batch(jobs[members[0]].version, texts, jobs[members[0]].options)
            for i in members:
                outcomes[i], at = _part(batch, jobs[i], at), at + len(jobs[i].texts)
        except Exception:  # whose fault it is: one by one
            outcomes |= {i: _answer(jobs[i]) for i in members}
        spent = time.perf_counter() - begun
        jobs[members[0]].version.pace.learn(len(texts), sum(jobs[i].size for i in members), spent)
    return [outcomes[i] for i in range(len(jobs))]


def _answer(job: Job) -> Outcome:
    begun = time.perf_counter()
    try:
        return _part(Batch(job.version, job.texts, job.options), job, 0)
    except Exception as error:
        return error
    finally:
        job.version.pace.learn(len(job.texts), job.size, time.perf_counter() - begun)


def _part(batch: Batch, job: Job, begin: int) -> list[Found] | bytes:
    """The answers of a job whose texts begin here in the batch."""
    end = begin + len(job.texts)
    return batch.lines(begin, end, job.ids) if job.lines else batch.found(begin, end)


class Batch:
    """`Tagger.tag` for many texts at once; gives the same."""

    def __init__(self, version: Version, texts: Sequence[str], options: Options) -> None:
        tagger, self._k = version.tagger, options.k
        self._version, self._texts, self._spoken = version, texts, version.labels.speaking(options.languages)
        self._top = tagger.predict(texts, asked_for(options.k, options.threshold), guess=options.guess)
        self._chances = tagger.probabilities(self._top)
        kept = self._top if options.threshold is None else tagger.cut(self._top, options.threshold)
        self._labels = kept.labels
        if self._labels.shape[1] > options.k:  # more were looked at than are wanted
            alive = self._labels >= 0
            self._labels = np.where(alive & (alive.cumsum(axis=1) <= options.k), self._labels, -1)
        found = self._top.labels
        known = options.guess or (len(texts) == 1 and found.size > 0 and found.item(0) >= 0)
        none = () if known else np.flatnonzero((found < 0).all(axis=1)).tolist()
        self._silent = {i: tagger.why_silent(texts[i]) for i in none}

    def found(self, begin: int, end: int) -> list[Found]:
        """As numbers."""
        labels, scores = self._labels[begin:end].tolist(), self._top.scores[begin:end].tolist()
        likely = None if self._chances is None else self._chances.scores[begin:end].tolist()
        out = []
        for i, row in enumerate(labels):
            mine, points, chance = row, scores[i], None if likely is None else likely[i]
            if -1 in row:
                places = [j for j, label in enumerate(row) if label >= 0]
                mine, points = [row[j] for j in places], [points[j] for j in places]
                chance = None if chance is None else [chance[j] for j in places]
            out.append(Found(mine, points, chance, self._silent.get(begin + i), self._version, self._spoken))
        return out

    def lines(self, begin: int, end: int, ids: Sequence[Any] | None) -> bytes:
        """As lines of JSON, made by a kernel; texts that were sent with an id have it."""
        rows = slice(begin, end)
        before = None if ids is None else ["" if id is None else f'"id":{encoded(id).decode()},' for id in ids]
        reasons = {i - begin: reason for i, reason in self._silent.items() if begin <= i < end and reason is not None}
        after = None
        if reasons:
            after = [f',"reason":{encoded(reasons[i]).decode()}' if i in reasons else "" for i in range(end - begin)]
        top = TopK(self._labels[rows], self._top.scores[rows], self._top.n_labels)
        chances = None if self._chances is None else self._chances[rows]
        return self._spoken.lines.format("served", top, before, after, chances=chances)
