"""Ctrl-C: code 130, one line, soon, and nothing left behind. Time bounds are generous; they only catch a hang."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM])
def test_a_log_stays_json(tmp_path: Path, with_signal: signal.Signals) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 20_000, seed=3)
    command = [sys.executable, "-c", "from xtrellis.cli import main; main()", "train", str(data), "--log", "json"]
    _, _, err, _ = _interrupt([*command, "--to", str(tmp_path / "m")], "20,000 rows", with_signal)
    events = [json.loads(line) for line in err.splitlines()]
    assert events[-1]["event"] == "stopped"
    assert events[-1]["message"].endswith("nothing was left half-written")


# Ctrl-C that comes while the program is being loaded: the import of a library sends it.
EARLY = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from xtrellis.cli import main
main()
"""


@pytest.mark.parametrize("log", [[], ["--log", "json"]])
def test_ctrl_c_while_the_program_is_loaded(log: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY, "inspect", "x", *log],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert done.returncode == 130, done.stderr
    said = done.stderr.strip()
    assert (json.loads(said)["message"] if log else said) == LINE


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
