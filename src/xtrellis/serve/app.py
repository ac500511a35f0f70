"""`App`: the ASGI application. Finds who answers a request, lets it in, counts it and notes it."""

from __future__ import annotations

import asyncio
import functools
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from ..core import ParameterError
from . import annif, api, openapi, pages, pdf
from .access import LEARN, OPEN, READ, AccessLog, Door
from .batching import Batcher
from .counters import Counters
from .feedback import Decision, Journal, learn_on_disk
from .messages import NO_SNIFF, Answer, Receive, Request, as_json, busy, encoded
from .models import Served
from .problems import CONTENT_TYPE, ClientGoneError, Problem
from .quick import Quick
from .settings import Settings

T = TypeVar("T")
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler = Callable[["App", Request], Awaitable[Answer]]
FLUSH = 0.5  # seconds that lines of the access log wait at most
NOT_FOUND = "other"  # how requests are counted that nobody answers


class Route(NamedTuple):
    """Who answers a path, and who may ask."""

    method: str
    path: str
    handler: Handler
    needs: int
    works: bool = False  # counts against the limit of requests at a time


async def _openapi(app: App, request: Request) -> Answer:
    """GET /openapi.json."""
    return as_json(openapi.document(app.settings, ROUTES))


ROUTES = (
    Route("GET", "/", pages.page, OPEN),
    Route("GET", "/page/{file}", pages.asset, OPEN),
    Route("GET", "/docs", pages.docs, OPEN),
    Route("GET", "/openapi.json", _openapi, OPEN),
    Route("GET", "/health", api.health, OPEN),
    Route("GET", "/metrics", api.metrics, READ),
    Route("POST", "/tag", api.tag, READ, works=True),
    Route("POST", "/text", pdf.text, READ, works=True),
    Route("POST", "/explain", api.explain, READ, works=True),
    Route("GET", "/models", api.models, READ),
    Route("GET", "/models/{id}", api.model, READ),
    Route("GET", "/models/{id}/tree", api.tree, READ, works=True),
    Route("GET", "/labels", api.labels, READ, works=True),
    Route("POST", "/feedback", api.feedback, LEARN, works=True),
    Route("GET", "/v1/", annif.info, READ),
    Route("GET", "/v1/projects", annif.projects, READ),
    Route("GET", "/v1/projects/{id}", annif.project, READ),
    Route("GET", "/v1/vocabs", annif.vocabs, READ),
    Route("POST", "/v1/projects/{id}/suggest", annif.suggest, READ, works=True),
    Route("POST", "/v1/projects/{id}/suggest-batch", annif.suggest_batch, READ, works=True),
    Route("POST", "/v1/projects/{id}/learn", annif.learn, LEARN, works=True),
)


class App:
    """Everything that a worker has."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.limits = settings, settings.limits
        self._exact = {(r.method, r.path): r for r in ROUTES if "{" not in r.path}
        self._patterns = [(r, r.path.split("/")) for r in ROUTES if "{" in r.path]
        self.door = Door(settings)
        self._in_flight = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._batchers: dict[str, Batcher] = {}
        self.quick = Quick(self)
        self.models: dict[str, Served] = {}
        self.journal: Journal | None = None

    # ── what handlers ask for ───────────────────────────────────────────────────────────────────────────────────────

    def find(self, name: str | None, *, missing: int = 422) -> Served:
        """The model with this id; without one, the only model."""
        if name is None:
            if len(self.models) == 1:
                return next(iter(self.models.values()))
            raise Problem(422, f"model must be one of {', '.join(self.models)}; there are {len(self.models)} here")
        served = self.models.get(name)
        if served is None:
            raise Problem(missing, f"there is no model {name[:100]!r}; there is: {', '.join(self.models)}"[:2000])
        return served

    def batcher(self, served: Served) -> Batcher:
        """The queue before a model."""
        return self._batchers[served.id]

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """The result of a function that may take a while."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, functools.partial(function, *args))

    async def decide(self, served: Served, decisions: Sequence[Decision]) -> int:
        """Keep decisions and, if the server learns, teach the model; how many it has learned from."""
        if self.journal is None:
            raise RuntimeError("decisions are kept only where there is a journal")
        await self.in_thread(self.journal.append, served.id, decisions)
        self.counters.add("decisions", len(decisions))
        if not self.settings.learn or not decisions:
            return 0
        texts, labels = [one["text"] for one in decisions], [one["labels"] for one in decisions]
        learned = await self.in_thread(learn_on_disk, served.path, texts, labels)
        self.counters.add("learned", learned)
        if learned:
            await served.refresh(run=self.in_thread)
        return learned

    # ── its life ────────────────────────────────────────────────────────────────────────────────────────────────────

    def load(self) -> None:
        """Load the models; raises what is wrong with them, or with what the server was told."""
        settings = self.settings
        if settings.learn and settings.feedback is None:
            raise ParameterError("--learn needs --feedback FOLDER, where decisions are kept")
        for name, path in settings.models:
            served = Served(name, path, threads=settings.threads, listen=self._heard)
            why_not = served.version.tagger.why_no_update() if settings.learn else None
            if why_not is not None:
                raise ParameterError(f"--learn: {why_not}")
            self.models[name] = served

    def start(self) -> None:
        """Begin to serve."""
        settings = self.settings
        loop = asyncio.get_running_loop()
        if not self.models:
            self.load()
        self.counters = Counters(
            [*(r.path for r in ROUTES), NOT_FOUND], [name for name, _ in settings.models], settings.counters
        )
        self.log = AccessLog(settings.access_log, with_texts=settings.log_texts)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="serve")
        self.journal = None if settings.feedback is None else Journal(settings.feedback)
        self._batchers = {name: Batcher(served, self.counters, loop) for name, served in self.models.items()}
        self.pdf_places = pdf.places()
        self._tasks = [loop.create_task(self._watch()), loop.create_task(self._flush())]

    def stop(self) -> None:
        """After the last request."""
        for task in self._tasks:
            task.cancel()
        for batcher in self._batchers.values():
            batcher.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.log.flush()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.settings.reload_every)
            for served in self.models.values():
                try:
                    await served.refresh(run=self.in_thread)
                except Exception as error:  # whatever a folder holds, the service goes on and looks again
                    self._heard("reload failed", f"{served.id}: {type(error).__name__}: {error}")

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(FLUSH)
            self.log.flush()

    def _heard(self, event: str, what: str) -> None:
        self.counters.add("reloads" if event == "reloaded" else "reload_failures")
        sys.stderr.write(f"{event}: {what}\n")

    # ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(Request(scope, receive, self.limits), send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    self.start()
                except Exception as error:
                    sys.stderr.write(f"error: {error}\n")
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, request: Request, send: Send) -> None:
        begun = time.perf_counter()
        route, status, sent = NOT_FOUND, 499, 0
        self.enters()
        try:
            try:
                found = self._route(request)
                route = found.path
                self.door.check(request, found.needs)
                if found.works and self.full(with_this=True):
                    raise busy(f"the server is at its limit of {self.limits.concurrent} requests at a time")
                answer = await found.handler(self, request)
            except Problem as problem:
                answer = self.refusal(problem)
            except (ClientGoneError, asyncio.CancelledError):
                if not request.gone:
                    raise
                return
            except Exception as error:
                answer = self.fault(request, error)
            status = answer.status
            sent = await self._send(request, answer, send)
        except ClientGoneError:
            self.counters.add("cancelled")
        finally:
            request.release()
            spent = time.perf_counter() - begun
            self.leaves(route, status, spent)
            self.log.note(request, status, spent, sent)

    async def _send(self, request: Request, answer: Answer, send: Send) -> int:
        """Start line, headers and body; how many bytes the body had."""
        headers = (
            [*answer.headers, *NO_SNIFF]
            if answer.headers[-1:] != ((b"cache-control", b"no-cache"),)
            else [*answer.headers]
        )
        headers += self.door.origin(request)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        if answer.stream is None:
            body = b"" if request.method == "HEAD" else answer.body
            await send({"type": "http.response.body", "body": body})
            return len(body)
        sent = 0
        try:
            async for part in answer.stream:
                if request.gone:
                    raise ClientGoneError
                await asyncio.wait_for(
                    send({"type": "http.response.body", "body": part, "more_body": True}), self.limits.seconds
                )
                sent += len(part)
        except asyncio.TimeoutError:  # a client that does not read; the stream stays unended, so that it is no success
            raise ClientGoneError from None
        except asyncio.CancelledError:
            if request.gone:
                raise ClientGoneError from None
            raise
        except ClientGoneError:
            raise
        except Exception as error:
            self.fault(request, error)
            last = encoded({"error": "the server failed; the lines that follow are missing"}) + b"\n"
            await send({"type": "http.response.body", "body": last, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        return sent

    # ── what quick requests do as well ──────────────────────────────────────────────────────────────────────────────

    def full(self, *, with_this: bool = False) -> bool:
        """True if there are as many requests as are allowed."""
        return self._in_flight - with_this >= self.limits.concurrent

    def enters(self) -> None:
        """A request has come."""
        self._in_flight += 1
        self.counters.add("in_flight")

    def leaves(self, route: str, status: int, seconds: float) -> None:
        """It has its answer, or its client has left (499)."""
        self._in_flight -= 1
        self.counters.add("in_flight", -1)
        if status != 499:
            self.counters.request(route, status, seconds)

    def refusal(self, problem: Problem) -> Answer:
        """What is wrong with a request, as its answer."""
        return Answer(encoded(problem.to_dict()), CONTENT_TYPE, status=problem.status, headers=problem.headers)

    def fault(self, request: Request, error: BaseException) -> Answer:
        """The answer where the server has failed; what happened is noted."""
        self.counters.add("faults")
        told = "".join(traceback.format_exception(error))
        sys.stderr.write(f"fault in {request.method} {request.path[:200]!r}\n{told}")
        return self.refusal(Problem(500, "the server failed; what happened is in its log"))

    def _route(self, request: Request) -> Route:
        method, path = request.method, request.path
        asked = "GET" if method == "HEAD" else method
        found = self._exact.get((asked, path))
        if found is not None:
            return found
        parts = path.split("/")
        allowed = {r.method for r in ROUTES if r.path == path}
        for route, pattern in self._patterns:
            if len(parts) == len(pattern) and all(a == b or b[:1] == "{" for a, b in zip(parts, pattern, strict=True)):
                if route.method == asked:
                    names = zip(pattern, parts, strict=True)
                    request.parts = {name[1:-1]: part for name, part in names if name[:1] == "{"}
                    return route
                allowed.add(route.method)
        if method == "OPTIONS" and allowed:
            return Route("OPTIONS", NOT_FOUND, functools.partial(_options, allowed=allowed), OPEN)
        if allowed:
            listed = ", ".join(sorted(_with_head(allowed)))
            raise Problem(
                405, f"{method[:20]} is not possible here; {listed} is", headers=((b"allow", listed.encode()),)
            )
        raise Problem(404, "there is nothing at this address; /docs lists what there is")


def _with_head(methods: set[str]) -> set[str]:
    return methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())


async def _options(app: App, request: Request, *, allowed: set[str]) -> Answer:
    """What is possible; sites that were named are told that their pages may ask."""
    listed = ", ".join(sorted(_with_head(allowed))).encode()
    headers: tuple[tuple[bytes, bytes], ...] = ((b"allow", listed),)
    if app.door.origin(request):
        headers += (
            (b"access-control-allow-methods", listed),
            (b"access-control-allow-headers", b"authorization, content-type"),
            (b"access-control-max-age", b"600"),
        )
    return Answer(status=204, headers=headers)
