"""The commonest request on a way of its own: `POST /tag` with one text, there whole when the connection is read.

Clients send the same head again and again. A head that was parsed once and let in needs no second look: it is known by
its bytes, and its body by its length. No task, no future and no messages between layers are made for such a request;
its text waits with all others before the model, and its answer has the very bytes that the ordinary way sends. What is
not quite as expected (other paths, tokens, wrong bodies, limits reached) takes the ordinary way from its beginning.
"""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

import httptools
import msgspec

from ..core import XtrellisError
from .access import READ
from .api import checked, one_answer
from .batching import Found, Job, Options
from .bodies import TAG
from .messages import GONE, JSON, NDJSON, SENT_SO, Answer, Request
from .models import Served
from .problems import Problem

if TYPE_CHECKING:
    from .app import App

PATH = "/tag"
HEADS = 4096  # that are known at most
LONGEST = 2048  # bytes of a head that is kept
BODY = 65_536  # bytes of a body that is waited for by nobody
LUCK = 8  # heads in a row that a connection may send without being known
OTHERWISE = {b"authorization", b"expect", b"origin", b"transfer-encoding", b"upgrade"}  # a head with these: as ever
OK = b"HTTP/1.1 200 OK\r\n"


class Wire(Protocol):
    """What a quick request needs of its connection."""

    raw: Any
    server_state: Any
    client: Any

    def answered(self, lone: Lone) -> None:
        """The answer is sent."""


class Lone(Job):
    """One text of a quick request. To its connection it is what uvicorn calls a cycle: it knows whether its answer is
    complete, and hears when the client has left or the connection shall be closed."""

    __slots__ = ("_app", "_begun", "_served", "_wire", "disconnected", "keep_alive", "response_complete", "scope")

    def __init__(self, app: App, wire: Wire, served: Served, text: str, options: Options) -> None:
        super().__init__(served.version, (text,), options)
        self._app, self._wire, self._served, self._begun = app, wire, served, time.perf_counter()
        self.disconnected = self.response_complete = False
        self.keep_alive = True
        self.scope: dict[str, Any] = {}
        app.enters()

    @property
    def message_event(self) -> Lone:
        """What is told that something has happened: nobody waits for it."""
        return self

    def set(self) -> None:
        """It has happened."""

    @property
    def gone(self) -> bool:
        """True if the client has left."""
        return GONE in self.scope

    def cancel(self) -> None:
        """Nobody waits for the answer."""
        self._end(499, 0)

    def settle(self, outcome: list[Found] | bytes | Exception) -> None:
        """Send the answer."""
        if isinstance(outcome, list):
            body, status, kind, start = one_answer(self._served, outcome[0]), 200, b"application/json", OK
        else:
            answer = self._refusal(outcome)
            body, status, start = answer.body, answer.status, _start(answer.status)
            kind = answer.headers[0][1]
        if not self.gone:
            date = b"".join([b"%s: %s\r\n" % header for header in self._wire.server_state.default_headers])
            close = b"" if self.keep_alive else b"connection: close\r\n"
            head = b"%s%scontent-type: %s\r\ncontent-length: %d\r\n%s%s\r\n" % (
                start, date, kind, len(body), SENT_SO, close
            )  # fmt: skip
            self._wire.raw.write(head + body)
        self._end(status, len(body))
        if not self.gone:
            self._wire.answered(self)

    def _refusal(self, outcome: Any) -> Answer:
        if isinstance(outcome, XtrellisError):
            return self._app.refusal(Problem(422, str(outcome)))
        return self._app.fault(self._as_request(), outcome)

    def _end(self, status: int, size: int) -> None:
        self.response_complete = True
        self._app.leaves(PATH, status, time.perf_counter() - self._begun)
        if self._app.log.on:
            self._app.log.note(self._as_request(), status, time.perf_counter() - self._begun, size)

    def _as_request(self) -> Request:
        request = Request({"method": "POST", "path": PATH, "client": self._wire.client}, _nothing, self._app.limits)
        request.tells(self._served.id, self.texts)
        return request


def _start(status: int) -> bytes:
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode()


async def _nothing() -> dict[str, Any]:
    raise RuntimeError("a quick request has its body already")


class Quick:
    """Knows heads, and takes requests in."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lengths: dict[bytes, int] = {}

    def length(self, head: bytes) -> int | None:
        """The length of the body that follows a head, if nothing of the head needs to be looked at; else None."""
        known = self._lengths.get(head)
        if known is not None or not head.startswith(b"POST /tag HTTP/1.1\r\n") or len(head) > LONGEST:
            return known
        found = self._judged(head)
        if found is not None:
            if len(self._lengths) >= HEADS:
                self._lengths.clear()
            self._lengths[head] = found
        return found

    def _judged(self, head: bytes) -> int | None:
        seen = _Head()
        parser = httptools.HttpRequestParser(seen)
        try:
            parser.feed_data(head)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return None
        names = [name for name, _ in seen.headers]
        if not seen.whole or not parser.should_keep_alive() or len(set(names)) < len(names) or OTHERWISE & set(names):
            return None
        scope = {"method": "POST", "path": PATH, "headers": seen.headers}
        request = Request(scope, _nothing, self._app.limits)
        length = request.header(b"content-length")
        if request.content_type != JSON or NDJSON in request.header(b"accept") or not length.isdigit():
            return None
        try:
            self._app.door.check(request, READ)
        except Problem:
            return None
        return int(length) if 0 < int(length) <= BODY else None

    def take(self, wire: Wire, body: bytes) -> Lone | None:
        """The request, which waits for its answer now; None if it has to take the ordinary way."""
        app = self._app
        if app.full():
            return None
        try:
            asked = TAG.decode(body)
            text = asked.text
            if text is None or asked.texts is not None or asked.explain:
                return None
            served = app.find(asked.model)
            lone = Lone(app, wire, served, text, checked(app, served, (text,), asked))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Problem):
            return None
        app.batcher(served).wait(lone)
        return lone


class _Head:
    """Hears of the parts of a head."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.whole = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """All of them."""
        self.whole = True
