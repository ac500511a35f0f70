"""What the user sees: lines, bars, numbers."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from xtrellis.cli import show
from xtrellis.core import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(show, "_now", lambda: now[0])
    return now


def test_lines_tell_begin_end_and_little_between(clock: list[float]) -> None:
    out = io.StringIO()
    with progress.listen(show.Lines(out)):
        progress.note("about to read")
        with progress.step("reading", total=80, unit="rows") as advance:
            for _ in range(80):
                clock[0] += 0.0625
                advance(1)
    assert out.getvalue().splitlines() == [
        "about to read",
        "reading …",
        "reading: 40 %, 32 rows, 16 rows/s, 3.0 s left",
        "reading: 80 %, 64 rows, 16 rows/s, 1.0 s left",
        "reading: 80 rows in 5.0 s (16 rows/s)",
    ]


def test_a_step_of_unknown_length(clock: list[float]) -> None:
    out = io.StringIO()
    with progress.listen(show.Lines(out)), progress.step("looking") as advance:
        clock[0] += 3
        advance(6)
        clock[0] += 70
    assert out.getvalue().splitlines()[1:] == [
        "looking: 6 steps, 2 steps/s",
        "looking: 6 steps in 1 min 13 s (0.1 steps/s)",
    ]


def test_bytes_are_sizes(clock: list[float]) -> None:
    out = io.StringIO()
    with progress.listen(show.Lines(out)), progress.step("saving", total=9e6, unit="B") as advance:
        clock[0] += 2
        advance(3e6)
    assert out.getvalue().splitlines()[1:] == [
        "saving: 33 %, 3.0 MB, 1.5 MB/s, 4.0 s left",
        "saving: 3.0 MB in 2.0 s (1.5 MB/s)",
    ]


def test_a_step_that_fails_still_ends() -> None:
    out = io.StringIO()

    def work() -> None:
        with progress.listen(show.Lines(out)), progress.step("training", total=3):
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - any
        work()
    assert out.getvalue().splitlines()[-1].startswith("training: ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bars_in_a_terminal_lines_elsewhere_silence_if_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, quiet, bars in ((Terminal(), False, True), (io.StringIO(), False, False), (Terminal(), True, False)):
        monkeypatch.setattr("sys.stderr", stream)
        with show.listening(quiet) as say:
            with progress.step("training", total=4, unit="nodes") as advance:
                for _ in range(4):
                    advance(1)
            progress.note("[built] it")
            say("[said] it")
        seen = stream.getvalue()
        assert ("\x1b[" in seen) == bars
        for words in ("training", "4 nodes", "[built] it", "[said] it"):
            assert (words in seen) == (not quiet)


def test_results_are_not_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    show.result("[bold]x[/bold] :smile:")
    assert capsys.readouterr().out == "[bold]x[/bold] :smile:\n"


def test_results_that_render(capsys: pytest.CaptureFixture[str]) -> None:
    class Thing:
        def render(self) -> str:
            return "rendered"

    show.result(Thing())
    assert capsys.readouterr().out == "rendered\n"
    assert isinstance(show.console(), Console)


def test_json_takes_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    class Thing:
        def to_dict(self) -> dict[str, Any]:
            return {"ä": 1}

    show.as_json({"a": np.float32(0.5), "b": np.arange(2), "c": Thing()})
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": [0, 1], "c": {"ä": 1}}


@pytest.mark.parametrize(
    ("spent", "said"),
    [(0.034, "34 ms"), (1.24, "1.2 s"), (59.7, "1 min 0 s"), (48, "48 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_times(spent: float, said: str) -> None:
    assert show.seconds(spent) == said


@pytest.mark.parametrize(
    ("n", "said"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (23_400_000, "23 MB"), (5e15, "5000 TB")]
)
def test_sizes(n: float, said: str) -> None:
    assert show.size(n) == said
