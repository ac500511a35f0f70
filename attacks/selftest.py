"""Cases whose outcome is known: whether the attacks would notice. `tests/faults` runs it."""

from __future__ import annotations

import os
import random
import signal
import time

import xtrellis as xt

from .common import Attack, Case, Wrong


def _refuse() -> None:
    raise xt.InputError("as it should")


def _raw() -> None:
    raise KeyError("x")


def _wrong() -> None:
    raise Wrong("something else")


CASES = {
    "answered": lambda: 1,
    "refused": _refuse,
    "raw error": _raw,
    "wrong": _wrong,
    "memory": lambda: bytearray(3 << 30),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": lambda: time.sleep(1000),
}


class Selftest(Attack):
    name = "selftest"
    limit = 0.5
    workers = 1

    def prepare(self) -> None:
        """Nothing."""

    def case(self, rng: random.Random, number: int) -> Case:
        name = list(CASES)[number % len(CASES)]
        return Case(name, f"{name} {rng.random()}", CASES[name])
