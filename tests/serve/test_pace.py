"""What a batch will take, and answers that leave in one piece."""

from __future__ import annotations

from typing import Any

from xtrellis.serve.models import EACH, Pace, size_of
from xtrellis.serve.protocol import Joined


def test_what_many_take_is_not_told_by_what_one_takes() -> None:
    pace = Pace(1e-6)
    assert pace.expected(32, 1000) == 1e-3  # nothing else is known
    for _ in range(50):
        pace.learn(1, 1000, 4e-3)
        pace.learn(32, 1000, 1e-4)
    assert abs(pace.expected(1, 1000) - 4e-3) < 1e-4
    assert pace.expected(40, 1000) == pace.expected(33, 1000) == 1e-4
    assert pace.expected(5000, 1000) == 1e-4  # as the most that have been seen
    assert pace.expected(20, 1000) > 3e-3  # as the next fewer
    assert pace.expected(0, 0) == 0


def test_one_slow_batch_does_not_count_for_much() -> None:
    pace = Pace(1e-6)
    pace.learn(1, 1000, 1.0)
    assert pace.expected(1, 1000) < 0.3


def test_texts_count_beside_their_characters() -> None:
    assert size_of(["", "four"]) == 2 * EACH + 4


class Wire:
    """Notes what it is told to send."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def writelines(self, parts: tuple[bytes, ...]) -> None:
        self.sent.append(b"".join(parts))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> Any:
        return name


def test_head_and_body_leave_together() -> None:
    wire = Wire()
    joined = Joined(wire)
    joined.write(b"HTTP/1.1 200 OK\r\n\r\n")
    assert wire.sent == []
    joined.write(b"HTTP/1.1 is what this body says")
    joined.write(b"more")
    assert wire.sent == [b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 is what this body says", b"more"]
    joined.write(b"HTTP/1.1 100 Continue\r\n\r\n")  # the client waits for it
    assert wire.sent[2:] == [b"HTTP/1.1 100 Continue\r\n\r\n"]


def test_a_head_without_a_body_is_sent_too() -> None:
    wire = Wire()
    joined = Joined(wire)
    joined.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    joined.flush()
    joined.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    joined.close()
    assert wire.sent == [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 400 Bad Request\r\n\r\n"]
    assert joined.is_closing()
    assert joined.get_extra_info("peername") == "peername"
