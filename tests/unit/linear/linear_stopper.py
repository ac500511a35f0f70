"""For trainings that are stopped and go on."""

from __future__ import annotations


class Stopper:
    """Interrupts when the n-th note or step comes."""

    def __init__(self, n):
        self.left = n

    def begin(self, title, total, unit):
        self.note(title)
        return 0

    def advance(self, step, amount):
        pass

    def end(self, step):
        pass

    def note(self, message):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
