"""Running the application: sockets, workers, signals, and connections that say nothing.

uvicorn speaks HTTP and keeps workers alive. What it lacks is added here: a connection that sends no request within some
seconds is closed, and a request learns that its client has left without asking for it.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import gc
import logging
import resource
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.supervisors import Multiprocess

from ..core import InputError, thread_count
from .app import App
from .messages import GONE
from .settings import Settings

BACKLOG = 4096
GRACE = 20  # seconds that requests have to end when the server stops
FILES = 65_536  # connections and files at a time that the process asks the system for


class Config(uvicorn.Config):
    """uvicorn's, and how long a connection may say nothing."""

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
    """A connection. Silent ones are closed; what is lost is noted where the request's handler sees it."""

    _timer: asyncio.TimerHandle | None = None
    config: Config

    def connection_made(self, transport: Any) -> None:
        self._joined = Joined(transport)
        super().connection_made(self._joined)  # type: ignore[arg-type]
        self._wait()

    def on_response_complete(self) -> None:
        self._joined.flush()  # an answer to HEAD has nothing but a head
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        for cycle in (self.cycle, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:  # type: ignore[redundant-expr]
                cycle.scope[GONE] = True  # type: ignore[literal-required]
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:
            self._wait()

    def on_headers_complete(self) -> None:
        self._heard()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.config.patience, self._give_up)

    def _heard(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


class Worker(App):
    """The application in a process of its own, whose settings it may change."""

    def start(self) -> None:
        """Begin to serve. What is there now stays: the collector of cycles need not walk over it again and again, which
        would hold up requests for tens of milliseconds. (A model that is replaced goes without the collector.)"""
        super().start()
        gc.collect()
        gc.freeze()


def run(settings: Settings, say: Callable[[str], None]) -> None:
    """Serve until a signal says stop."""
    threads = settings.threads or max(1, thread_count(None) // settings.workers)
    settings = replace(settings, threads=threads)
    app = Worker(settings)
    app.load()  # here, also for workers that load it themselves: what is wrong is said before anything starts
    _allow_connections()
    sock = _listen(settings)
    port = sock.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="xtrellis-") as folder:
        counters = str(Path(folder) / "counters") if settings.workers > 1 else None
        several = functools.partial(Worker, replace(settings, counters=counters))
        config = Config(
            several if settings.workers > 1 else app,
            factory=settings.workers > 1,
            http=Protocol,
            ws="none",
            loop="uvloop",
            lifespan="on",
            workers=settings.workers,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=GRACE,
        )
        config.patience = settings.limits.seconds
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # we say ourselves what matters
        for name, path in settings.models:
            say(f"{name}: {path}")
        say(f"page: {address(settings.host, port)}/   API: {address(settings.host, port)}/docs   (Ctrl-C stops)")
        with sock, suppress(KeyboardInterrupt):
            if settings.workers > 1:
                _workers(config, sock)
            else:
                _Server(config).run(sockets=[sock])


class _Server(uvicorn.Server):
    """uvicorn's, for one process."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End well; a second Ctrl-C ends at once. The signal is not raised again: to stop is no failure."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def _workers(config: uvicorn.Config, sock: socket.socket) -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        Multiprocess(config, sockets=[sock]).run()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        sock.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise InputError(f"port {settings.port} is taken by another program; choose one: --port 8001") from None
        raise InputError(f"cannot listen at {settings.host}, port {settings.port}: {error}") from None
    sock.listen(BACKLOG)
    sock.set_inheritable(True)
    return sock


def _allow_connections() -> None:
    """As many open files as the system lets us have: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def address(host: str, port: int) -> str:
    """As a browser takes it."""
    name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"
