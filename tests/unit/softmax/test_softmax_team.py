"""Threads that train together begin together, or not at all."""

from __future__ import annotations

import threading

import pytest

from xtrellis.softmax import training


def test_all_members_work_at_once():
    barrier = threading.Barrier(3, timeout=60)
    came = []

    def work(m):
        barrier.wait()
        came.append(m)

    training._together(work, 3)
    assert sorted(came) == [0, 1, 2]
    training._together(came.append, 1)
    assert came[3:] == [0]


def test_a_member_whose_fellow_never_comes_goes_home(monkeypatch):
    """Ctrl-C may strike when some members have begun and others have not."""
    begun, worked = [], []

    def half(function, tasks, *, threads):
        begun.append(threading.Thread(target=function, args=(tasks[0],)))
        begun[0].start()
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "run", half)
    with pytest.raises(KeyboardInterrupt):
        training._together(worked.append, 2)
    begun[0].join(training.PATIENCE / 3)
    assert not begun[0].is_alive()
    assert not worked
