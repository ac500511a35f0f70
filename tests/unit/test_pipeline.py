"""Work in stages: order, errors, and how little waits between them."""

from __future__ import annotations

import itertools
import threading

import pytest

from xtrellis.core import staged


def test_blocks_come_out_in_order():
    assert list(staged(lambda hungry: range(100), lambda x: x + 1, lambda x: 2 * x)) == [2 * i + 2 for i in range(100)]
    assert list(staged(lambda hungry: [])) == []


def test_an_endless_source_is_read_a_few_blocks_ahead():
    drawn = []

    def source(hungry):
        for i in itertools.count():
            drawn.append(i)
            yield i

    work = staged(source, lambda x: x, lambda x: x)
    assert [next(work) for _ in range(5)] == [0, 1, 2, 3, 4]
    work.close()
    assert len(drawn) <= 20


@pytest.mark.parametrize("where", ["source", "stage"])
def test_an_error_comes_out_where_the_blocks_do(where):
    def source(hungry):
        yield 1
        if where == "source":
            raise KeyError("mine")
        yield 0

    found = []
    with pytest.raises((KeyError, ZeroDivisionError)):
        found.extend(staged(source, lambda x: 1 // x))
    before = threading.active_count()
    assert before >= 1


def test_stages_overlap():
    both = threading.Barrier(2, timeout=30)

    def source(hungry):
        yield 1
        both.wait()  # while the stage works on the first block
        yield 2

    def stage(block):
        if block == 1:
            both.wait()
        return block

    assert list(staged(source, stage)) == [1, 2]


def test_a_source_knows_whether_somebody_waits():
    asked = threading.Event()

    def source(hungry):
        while not hungry():
            pass
        asked.set()
        yield 1

    assert list(staged(source)) == [1]
    assert asked.is_set()
