"""Progress: silent unless somebody listens."""

from __future__ import annotations

import contextvars
import threading

import pytest

from xtrellis.core import progress


class Log:
    def __init__(self):
        self.events = []

    def begin(self, title, total, unit):
        self.events.append(("begin", title, total, unit))
        return len(self.events)

    def advance(self, step, amount):
        self.events.append(("advance", step, amount))

    def end(self, step):
        self.events.append(("end", step))

    def note(self, message):
        self.events.append(("note", message))


def test_silence(capsys):
    with progress.step("work", total=3) as advance:
        advance(1)
    progress.note("hello")
    assert capsys.readouterr() == ("", "")


def test_a_listener_hears_it_all():
    log = Log()
    with progress.listen(log), progress.step("work", total=3, unit="rows") as advance:
        advance(1)
        progress.note("hello")
        advance(2)
    assert log.events == [
        ("begin", "work", 3, "rows"),
        ("advance", 1, 1),
        ("note", "hello"),
        ("advance", 1, 2),
        ("end", 1),
    ]
    progress.note("later")
    assert len(log.events) == 5


def test_steps_end_when_work_fails():
    log = Log()
    with pytest.raises(ValueError, match="no"), progress.listen(log), progress.step("work"):
        raise ValueError("no")
    assert log.events[-1] == ("end", 1)
    progress.note("nobody listens any more")
    assert len(log.events) == 2


def test_nested_listeners_and_steps():
    outer, inner = Log(), Log()
    with progress.listen(outer):
        with progress.step("a"), progress.step("b"):
            pass
        with progress.listen(inner):
            progress.note("in")
        with progress.listen(None):
            progress.note("nobody")
        progress.note("out")
    assert [e[0] for e in outer.events] == ["begin", "begin", "end", "end", "note"]
    assert inner.events == [("note", "in")]


def test_listeners_belong_to_their_context():
    log = Log()
    with progress.listen(log):
        thread = threading.Thread(target=progress.note, args=("other thread",))
        thread.start()
        thread.join()
        contextvars.copy_context().run(progress.note, "copied context")
    assert log.events == [("note", "copied context")]
