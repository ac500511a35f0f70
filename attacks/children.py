"""Processes that a worker forks to interrupt or kill them: quick to begin, since all is loaded already."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .common import Fault


class Child:
    """Runs a function in a forked process. `begun` waits for its sign; `result` is {"value": …} or {"failed": …}."""

    def __init__(self, run: Callable[[Callable[[], None]], Any]) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _live(run, writing)
        os.close(writing)
        self._pipe, self._said = reading, b""
        self.began = time.monotonic()

    def begun(self) -> None:
        """Wait for the sign that the function gives when it begins its work."""
        if not self._wait(60, lambda: b"\n" in self._said):
            self.end()
            raise Fault("hang", "the work does not begin within 60 s")

    def send(self, number: int) -> None:
        if self.pid:  # 0 would mean this process and all its children
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def result(self, limit: float) -> Any:
        """None if the process has died without a word; TimeoutError if it still runs."""
        if not self._wait(limit, lambda: False):
            raise TimeoutError
        os.close(self._pipe)
        os.waitpid(self.pid, 0)
        self.pid = 0
        last = self._said.rpartition(b"\n")[2]
        return json.loads(last) if last else None

    def end(self) -> None:
        """Kill it."""
        if self.pid:
            self.send(signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self._pipe)
            self.pid = 0

    def _wait(self, limit: float, done: Callable[[], bool]) -> bool:
        """Read what it says until `done`, or until it ends; False if neither happens in time."""
        end = time.monotonic() + limit
        while not done():
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return False
            read = os.read(self._pipe, 1 << 16)
            if not read:
                return True
            self._said += read
        return True


def _live(run: Callable[[Callable[[], None]], Any], pipe: int) -> None:
    """The child's whole life; it never returns."""

    def begin() -> None:
        os.write(pipe, b"\n")

    try:
        said = json.dumps({"value": run(begin)})
        os.write(pipe, said.encode())
    except BaseException:
        traceback.print_exc()
        os.write(pipe, json.dumps({"failed": traceback.format_exc()[-1500:]}).encode())
    finally:
        os._exit(0)


def in_child(run: Callable[[], Any], limit: float = 120) -> Any:
    """What a function gives when it runs in a child that nobody disturbs."""
    child = Child(lambda begin: run())
    try:
        found = child.result(limit)
    except TimeoutError:
        child.send(signal.SIGABRT)
        time.sleep(0.5)
        raise Fault("hang", f"no end within {limit:.0f} s, undisturbed") from None
    finally:
        child.end()
    if found is None:
        raise Fault("crash", "a child died undisturbed")
    if "failed" in found:
        raise Fault("raw error", found["failed"].strip().splitlines()[-1])
    return found["value"]
