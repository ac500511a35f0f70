"""The thread pool: same answers for any number of threads; errors and Ctrl-C stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from xtrellis.core import parallel
from xtrellis.core.parallel import each


@pytest.mark.parametrize("threads", [None, 1, 2, 7])
@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_results_are_in_the_order_of_the_tasks(threads, count):
    tasks = list(range(count))
    done = []
    found = parallel.run(lambda t: t * t, tasks, threads=threads, size=lambda t: t % 7, done=done.append)
    assert found == [t * t for t in tasks]
    assert sorted(done) == tasks


def test_large_tasks_begin_first():
    order = []
    parallel.run(order.append, [3, 9, 1, 9, 5], threads=1, size=float)
    assert order == [9, 9, 5, 3, 1]


def test_done_is_called_on_the_calling_thread():
    here = threading.get_ident()
    seen = []
    parallel.run(lambda t: t, range(20), threads=3, done=lambda i: seen.append(threading.get_ident()))
    assert set(seen) == {here}


def test_work_is_really_shared():
    barrier = threading.Barrier(2, timeout=20)
    assert parallel.run(lambda t: barrier.wait() >= 0, range(2), threads=2) == [True, True]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_error_stops_what_has_not_begun(threads):
    begun = []

    def work(t):
        begun.append(t)
        if t == 3:
            raise ValueError("three")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="three"):
        parallel.run(work, range(1000), threads=threads)
    assert len(begun) < 100
    assert threading.active_count() == 1 or not any("ThreadPool" in t.name for t in threading.enumerate())


def test_an_error_in_done_stops_it_too():
    def done(i):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        parallel.run(lambda t: t, range(1000), threads=2, done=done)


def test_runs_may_be_nested():
    assert parallel.run(lambda t: sum(parallel.run(lambda u: u, range(t), threads=2)), range(5), threads=2) == [
        0, 0, 1, 3, 6,
    ]  # fmt: skip


CTRL_C = """
import sys, time
from xtrellis.core import parallel
def work(t):
    if t == 0:
        print("begun", flush=True)
    time.sleep(0.05)
try:
    parallel.run(work, range(10_000), threads=2)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_stops():
    # Background jobs of a shell ignore Ctrl-C and hand that down; here it must be heard.
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    child = subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, text=True, **listen)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert out == "stopped\n"
    assert child.returncode == 0


def test_thread_count():
    assert parallel.thread_count(3) == 3
    assert parallel.thread_count(None) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("n", [0, 1, 5, 10, 97])
@pytest.mark.parametrize("parts", [0, 1, 2, 7, 200])
@pytest.mark.parametrize("at_least", [0, 1, 4])
def test_spans_cover_everything_once(n, parts, at_least):
    spans = parallel.spans(n, parts, at_least=at_least)
    assert [i for begin, end in spans for i in range(begin, end)] == list(range(n))
    assert 1 <= len(spans) <= max(1, parts)
    lengths = [end - begin for begin, end in spans]
    assert max(lengths) - min(lengths) <= 1
    assert len(spans) == 1 or min(lengths) >= max(1, at_least)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_tasks_are_drawn_as_they_begin(threads):
    drawn, ended = [], []

    def tasks():
        for i in range(100):
            assert i - len(ended) <= 2 * threads, "drawn long before it can begin"
            drawn.append(i)
            yield i

    each(lambda i: i * i, tasks(), lambda i, result: ended.append((i, result)), threads=threads)
    assert drawn == list(range(100))
    assert sorted(ended) == [(i, i * i) for i in range(100)]


def test_tasks_under_way_share_the_room():
    lock, running, most = threading.Lock(), [0], [0]

    def work(size):
        with lock:
            running[0] += size
            most[0] = max(most[0], running[0] if size <= 10 else 0)
        time.sleep(0.001)
        with lock:
            alone = size <= 10 or running[0] == size
            running[0] -= size
        return alone

    ended = []
    sizes = [3, 9, 1, 1, 1, 25, 4, 4, 4, 10, 2] * 3
    each(work, sizes, lambda size, alone: ended.append(alone), threads=4, room=float, limit=10)
    assert most[0] <= 10
    assert len(ended) == len(sizes)
    assert all(ended), "what is larger than the room runs alone"


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_any_hand_ends_it(threads):
    def drawn():
        yield 1
        raise LookupError("drawing")

    def bad(task):
        raise ValueError("working")

    with pytest.raises(LookupError, match="drawing"):
        each(abs, drawn(), lambda task, result: None, threads=threads)
    with pytest.raises(ValueError, match="working"):
        each(bad, range(9), lambda task, result: None, threads=threads)
    with pytest.raises(ZeroDivisionError):
        each(abs, range(9), lambda task, result: 1 / 0, threads=threads)
