"""Ctrl-C: code 130, one line, soon, and nothing left behind. Time bounds are generous; they only catch a hang."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_world import write_jsonl

LINE = "interrupted; nothing was left half-written"

# A C call that Python cannot interrupt, on the main thread.
STUCK = """
import hashlib, sys
from xtrellis.cli import app, interrupt
def stuck():
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2_000_000_000)
app.app.command()(stuck)
sys.exit(app.run(["stuck"]))
"""

# A worker thread that must be joined at exit and does not end by itself.
THREADS = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from xtrellis.cli import app
def busy():
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(time.sleep, 1000)
        sys.stdout.write("ready\\n"); sys.stdout.flush()
        job.result()
app.app.command()(busy)
sys.exit(app.run(["busy"]))
"""

# Python code that unwinds by itself.
PYTHON = """
import sys, time
from xtrellis.cli import app
def loop():
    try:
        sys.stdout.write("ready\\n"); sys.stdout.flush()
        while True: time.sleep(0.01)
    finally:
        sys.stdout.write("cleaned up\\n")
app.app.command()(loop)
sys.exit(app.run(["loop"]))
"""


def _interrupt(
    command: list[str], ready: str, with_signal: signal.Signals = signal.SIGINT
) -> tuple[int, str, str, float]:
    # Background jobs of a shell ignore Ctrl-C and hand that down; the program shall hear it however tests were started.
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **listen) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            stream = process.stdout if ready == "ready" else process.stderr
            for line in stream:
                if ready in line:
                    break
            began = time.monotonic()
            process.send_signal(with_signal)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, out, err, time.monotonic() - began


@pytest.mark.parametrize("script", [STUCK, THREADS, PYTHON], ids=["kernel", "threads", "python"])
def test_whatever_runs_it_stops(script: str) -> None:
    code, out, err, spent = _interrupt([sys.executable, "-c", script], "ready")
    assert code == 130
    assert err.split("\n").count(LINE) == 1
    assert "Traceback" not in err
    assert spent < 20
    assert ("cleaned up" in out) == (script is PYTHON)


@pytest.mark.parametrize("script", [STUCK, THREADS, PYTHON], ids=["kernel", "threads", "python"])
def test_sigterm_stops_it_as_well(script: str) -> None:
    code, out, err, spent = _interrupt([sys.executable, "-c", script], "ready", signal.SIGTERM)
    assert code == 143
    assert err.split("\n").count("stopped by SIGTERM; nothing was left half-written") == 1
    assert "Traceback" not in err
    assert spent < 20
    assert ("cleaned up" in out) == (script is PYTHON)


def test_training_stops_and_leaves_the_old_model(tmp_path: Path, model: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 20_000, seed=3)
    to = tmp_path / "m"
    to.mkdir()
    for file in model.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    before = {file.name: file.read_bytes() for file in to.iterdir()}
    command = [sys.executable, "-c", "from xtrellis.cli import main; main()", "train", str(data), "--to", str(to)]
    code, out, err, spent = _interrupt(command, "20,000 rows")
    assert code == 130, err
    assert LINE in err
    assert spent < 20
    assert out == ""
    assert {file.name: file.read_bytes() for file in to.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} - {"m.checkpoint"} == {"d.jsonl", "m"}
