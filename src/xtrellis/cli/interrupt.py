"""Ctrl-C that stops within a second, whatever is running.

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

GRACE = 0.7  # seconds to unwind; with the exit itself this stays below one second
EXIT_CODE = 130  # 128 + SIGINT, as shells expect

_SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it


class Watcher:
    """Knows whether the user has asked to stop, and says so once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = False
        self.asked = False

    def say(self) -> None:
        """The one line an interrupted user gets, without any machinery that might be locked right now."""
        with self._lock:
            if self._said:
                return
            self._said = True
            cursor = _SHOW_CURSOR if os.isatty(2) else b""
            with suppress(OSError):
                os.write(2, cursor + b"\ninterrupted; nothing was left half-written\n")

    def listen(self, pipe: int) -> None:
        """Body of the watcher thread; ends when the writing side is closed."""
        while signals := os.read(pipe, 64):
            if signal.SIGINT not in signals:
                continue
            self.asked = True
            time.sleep(GRACE)
            self.say()
            os._exit(EXIT_CODE)
        os.close(pipe)


@contextmanager
def watch() -> Iterator[Watcher]:
    """Bound the time from Ctrl-C to exit within the block (on the main thread: signals never reach others)."""
    watcher = Watcher()
    if threading.current_thread() is not threading.main_thread():
        yield watcher
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=watcher.listen, args=(reading,), name="ctrl-c", daemon=True).start()
    try:
        yield watcher
    finally:
        signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        if not watcher.asked:  # else it must stay, to bound the joining of threads at exit
            os.close(writing)
