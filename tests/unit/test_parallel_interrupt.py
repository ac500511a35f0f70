"""Ctrl-C in the middle of short parallel calls: always heard, at once, and the next call works as if nothing was."""

from __future__ import annotations

import random
import select
import signal
import subprocess
import sys
import time

import pytest

# Hears Ctrl-C only inside the `try`; says so each time, and whether a call between two of them gave what it should.
CHILD = """
import os, signal, sys
from xtrellis.core import parallel

def work(t):
    return sum(range(50 * t))

expected = [work(t) for t in range(8)]
hear = {signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, hear)
signal.signal(signal.SIGINT, signal.default_int_handler)
os.write(1, b"ready\\n")
while True:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, hear)
        while True:
            assert parallel.run(work, range(8), threads=2) == expected
    except KeyboardInterrupt:
        signal.pthread_sigmask(signal.SIG_BLOCK, hear)
        assert parallel.run(work, range(8), threads=2) == expected
        os.write(1, b"heard\\n")
"""
TIMES = 400
SOON = 20  # seconds: none takes more than a few milliseconds, unless it hangs


def line_of(child: subprocess.Popen[bytes], what: str) -> bytes:
    assert child.stdout is not None
    if not select.select([child.stdout], [], [], SOON)[0]:
        pytest.fail(what)
    return child.stdout.readline()


@pytest.mark.parametrize("seed", [1, 2])
def test_every_ctrl_c_is_heard(seed):
    dice = random.Random(seed)
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, bufsize=0) as child:
        try:
            assert line_of(child, "it did not begin") == b"ready\n"
            for i in range(TIMES):
                time.sleep(dice.random() * 0.01)
                child.send_signal(signal.SIGINT)
                assert line_of(child, f"Ctrl-C number {i + 1} was not heard") == b"heard\n"
        finally:
            child.kill()
