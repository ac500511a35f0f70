"""A progress listener for measurements."""

from __future__ import annotations

import time


class Clock:
    """Keeps the seconds of each step, by its title; steps of the same title are summed."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        self._running: list[tuple[str, float]] = []

    def begin(self, title: str, total: float | None, unit: str) -> int:
        self._running.append((title, time.perf_counter()))
        return len(self._running) - 1

    def advance(self, step: int, amount: float) -> None:
        pass

    def end(self, step: int) -> None:
        title, start = self._running[step]
        self.steps[title] = self.steps.get(title, 0.0) + time.perf_counter() - start

    def note(self, message: str) -> None:
        pass
