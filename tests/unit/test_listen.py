"""Progress from Python: a function that is called, and the standard library's logging."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import xtrellis as xt

TEXTS, LABELS = ["red apple", "green pear", "blue sky"] * 4, [["a"], ["b"], ["c"]] * 4


def tagger() -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear", threads=1))


def test_a_function_hears_of_every_step() -> None:
    heard: list[xt.ProgressEvent] = []
    with xt.listen(heard.append):
        tagger().fit(TEXTS, LABELS)
    after = len(heard)
    tagger().fit(TEXTS, LABELS)
    assert len(heard) == after
    begun = [event.title for event in heard if event.kind == "begin"]
    assert "counting words" in begun
    assert sorted(begun) == sorted(event.title for event in heard if event.kind == "end")
    assert any(event.kind == "note" and event.title.startswith("label tree") for event in heard)
    words = [event for event in heard if event.title == "counting words"]
    assert [event.done for event in words] == sorted(event.done for event in words)
    assert words[-1].done == words[-1].total > 0


def test_an_error_of_the_function_stops_the_work() -> None:
    class EnoughError(Exception):
        pass

    def stop(event: xt.ProgressEvent) -> None:
        raise EnoughError

    with xt.listen(stop), pytest.raises(EnoughError):
        tagger().fit(TEXTS, LABELS)


def test_logging_hears_it_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="xtrellis"):
        tagger().fit(TEXTS, LABELS)
    said = [record.getMessage() for record in caplog.records if record.name == "xtrellis"]
    assert any(line.startswith("label tree") for line in said)
    assert any(line.startswith("counting words: ") for line in said)
    assert not any(line.endswith("…") for line in said)
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="xtrellis"):
        tagger().fit(TEXTS, LABELS)
    assert "counting words …" in [record.getMessage() for record in caplog.records]


def test_logging_is_not_loaded_for_nobody() -> None:
    script = (
        "import sys; from xtrellis.core import progress\n"
        "before = 'logging' in sys.modules\n"
        "with progress.step('x'): progress.note('y')\n"
        "print(before, 'logging' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert out[0] == out[1]
