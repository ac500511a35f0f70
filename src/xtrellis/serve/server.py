"""Running the application: sockets, workers and signals. uvicorn speaks HTTP and keeps workers alive."""

from __future__ import annotations

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

import uvicorn
from uvicorn.supervisors import Multiprocess

from ..core import InputError, thread_count
from .app import App
from .protocol import Config, Protocol
from .settings import Settings

BACKLOG = 4096
GRACE = 20  # seconds that requests have to end when the server stops
STARTING = (
    60  # seconds that a worker may take to show that it lives; uvicorn's 5 kill it while a busy machine starts it
)
FILES = 65_536  # connections and files at a time that the process asks the system for


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
            timeout_graceful_shutdown=GRACE,
        )
        config.patience = settings.limits.seconds
        config.timeout_worker_healthcheck = STARTING
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
