"""Ctrl-C and SIGTERM that stop within a second, whatever is running.

Python raises KeyboardInterrupt only when the main thread is back in Python code; a kernel there, or worker threads that
must be joined, can take longer than a user waits. So a watcher thread hears of the signal through the wake-up pipe (the
C handler writes to it at once), gives the program a moment to unwind and clean up, and then ends the process. That is
safe because everything this program writes appears under its final name only when it is whole.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import show, stop_early

GRACE = 0.7  # seconds to unwind; with the exit itself this stays below one second
EXIT_CODE = 130  # 128 + SIGINT, as shells expect; 143 for SIGTERM, as `kill` and service managers send it
STOPS = {signal.SIGINT: "interrupted", signal.SIGTERM: "stopped by SIGTERM"}
RESUME = "what was done is in {}: the same command with --resume goes on from there"

_SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it


class Watcher:
    """Knows whether the user has asked to stop, and says so once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = False
        self.signal = signal.SIGINT
        self.asked = False

    @property
    def exit_code(self) -> int:
        """128 + the signal, as shells expect."""
        return 128 + self.signal

    def say(self) -> None:
        """The one line an interrupted user gets, without any machinery that might be locked right now."""
        with self._lock:
            if self._said:
                return
            self._said = True
            cursor = _SHOW_CURSOR if os.isatty(2) else b""
            left = next((path for path in reversed(_left) if path.is_dir()), None)
            more = {} if left is None else {"checkpoint": RESUME.format(left)}
            line = show.stopped(f"{STOPS[self.signal]}; nothing was left half-written", **more)
            with suppress(OSError):
                os.write(2, cursor + line)

    def stop(self, number: int, frame: object) -> None:
        """The handler of SIGTERM: unwinds as Ctrl-C does."""
        self.signal = signal.SIGTERM
        raise KeyboardInterrupt

    def listen(self, pipe: int) -> None:
        """Body of the watcher thread; ends when the writing side is closed."""
        while signals := os.read(pipe, 64):
            if not set(signals) & set(STOPS):
                continue
            self.asked = True
            if signal.SIGINT not in signals:
                self.signal = signal.SIGTERM
            time.sleep(GRACE)
            self.say()
            os._exit(self.exit_code)
        os.close(pipe)


_left: list[Path] = []


@contextmanager
def leaving(*folders: Path | None) -> Iterator[None]:
    """If the block is stopped, the user is told of the last of these folders that is there."""
    before = len(_left)
    _left.extend(folder for folder in folders if folder is not None)
    yield
    del _left[before:]  # not if it was stopped: who says so comes later


@contextmanager
def watch() -> Iterator[Watcher]:
    """Bound the time from Ctrl-C to exit within the block (on the main thread: signals never reach others)."""
    watcher = Watcher()
    _left.clear()
    if threading.current_thread() is not threading.main_thread():
        yield watcher
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    ours = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL  # whoever else listens to it goes on doing so
    at_start = signal.getsignal(signal.SIGINT) is stop_early  # which is no longer needed: from now on work is unwound
    if at_start:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if ours:
        signal.signal(signal.SIGTERM, watcher.stop)
    threading.Thread(target=watcher.listen, args=(reading,), name="ctrl-c", daemon=True).start()
    try:
        yield watcher
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if at_start:
            signal.signal(signal.SIGINT, stop_early)
        if not watcher.asked:  # else it must stay, to bound the joining of threads at exit
            os.close(writing)


@contextmanager
def stand_aside() -> Iterator[None]:
    """Let the block end in its own time: a server finishes what it is doing before it stops."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
