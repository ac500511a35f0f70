"""A connection: what uvicorn's lacks.

Silent ones are closed; requests learn that their client has left without asking for it; the head of an answer leaves
with the first of its body; and the commonest request is looked at before anybody parses it (`quick.py`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .messages import GONE
from .quick import LUCK, Lone, Quick

if TYPE_CHECKING:
    from .app import App

KEEP_ALIVE = 30.0  # seconds that a connection may rest between two requests
HEAD_ENDS = b"\r\n\r\n"


class Config(uvicorn.Config):
    """uvicorn's, and how long a connection may take to send the head of a request."""

    patience = 30.0


class Joined:
    """A transport that sends the head of an answer together with the first of its body.

    Two pieces are two calls of the system and wake the client twice: a third of a short request's time.
    """

    __slots__ = ("_head", "_transport", "is_closing")

    def __init__(self, transport: Any) -> None:
        self._transport, self.is_closing = transport, transport.is_closing
        self._head: bytes | None = None

    def write(self, data: bytes) -> None:
        """Send; the head of an answer waits for what follows."""
        head = self._head
        if head is not None:
            self._head = None
            self._transport.writelines((head, data))
        elif data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 100"):
            self._head = data
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Nothing follows."""
        if self._head is not None:
            self.write(b"")

    def close(self) -> None:
        """After what waits."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """A connection, and how it is watched: one timer that looks now and then, since one for each request costs more
    than the request's parsing."""

    config: Config
    app: App
    cycle: Any
    _timer: asyncio.TimerHandle | None = None
    _until: float | None = None  # when silence becomes too long; None while a request is answered
    _begun = False  # the parser is within a request
    _running: Any = None  # the request that is being answered; `cycle` is the newest
    _luck = LUCK

    def connection_made(self, transport: Any) -> None:
        self.raw, self._joined = transport, Joined(transport)
        super().connection_made(self._joined)  # type: ignore[arg-type]
        self._quick: Quick | None = self.app.quick
        self._until = self.loop.time() + self.config.patience
        self._watch(self.config.patience)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for cycle in (self.cycle, self._running, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.scope[GONE] = True
        super().connection_lost(exc)

    # ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────

    def data_received(self, data: bytes) -> None:
        quick, cycle = self._quick, self.cycle
        free = cycle is None or cycle.response_complete
        if quick is not None and free and not self._begun and not self.flow.write_paused:
            end = data.find(HEAD_ENDS) + 4
            length = quick.length(data[:end]) if end >= 4 else None
            if length is None:
                self._luck -= 1
                if self._luck <= 0:  # a client whose heads are always new, or that asks for other things
                    self._quick = None
            elif len(data) == end + length:
                self._luck = LUCK
                lone = quick.take(self, data[end:])
                if lone is not None:
                    self.cycle = self._running = lone
                    self._until = None
                    return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._begun = True
        if self._until is not None:
            self._until = self.loop.time() + self.config.patience
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._until = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._begun = False
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Go on with the next request, if it is there already. (As uvicorn does, without a new timer each time.)"""
        self._joined.flush()  # an answer to HEAD has nothing but a head
        self.server_state.total_requests += 1
        self._running = None
        if self.raw.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif not self._begun:
            self._until = self.loop.time() + KEEP_ALIVE

    def answered(self, lone: Lone) -> None:
        """A quick request has its answer."""
        if not lone.keep_alive:
            self.raw.close()
        self.on_response_complete()

    # ── silence ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _watch(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Close a connection that has been silent too long, or look again when it may be."""
        self._timer = None
        patience, until, now = self.config.patience, self._until, self.loop.time()
        if until is not None and until <= now:
            if not self.raw.is_closing():
                self._joined.close()
        else:
            self._watch(patience if until is None else min(patience, until - now))
