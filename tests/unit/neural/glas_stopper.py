"""For trainings that are stopped after an epoch and go on."""

from __future__ import annotations


class Stop(Exception):  # noqa: N818
    pass


class StopAfter:
    """Raises when the given number of epochs has been told."""

    def __init__(self, epochs):
        self.left = epochs

    def begin(self, title, total, unit):
        if title.startswith("epoch"):
            self.left -= 1
            if self.left < 0:
                raise Stop
        return 0

    def advance(self, step, amount): ...
    def end(self, step): ...
    def note(self, message): ...
