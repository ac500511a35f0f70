"""The quick way of `POST /tag`: the same bytes as the ordinary way, on connections that do all that connections may."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from serve_world import HOSTILE, Server, texts_and_labels

import xtrellis as xt
from xtrellis.serve import Settings
from xtrellis.serve.app import App
from xtrellis.serve.quick import HEADS, LONGEST

TEXTS = [*texts_and_labels(12, 8)[0], "", "qqq zzz", HOSTILE, "a\0b oven", "Café \U0001f52d oven"]
HEAD = "POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def request(body: object, head: str = HEAD) -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"{head}Content-Length: {len(raw)}\r\n\r\n".encode() + raw


class Line:
    """A connection that is kept."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.got = b""

    def send(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def answer(self) -> tuple[bytes, bytes]:
        """Head, without its date, and body."""
        while b"\r\n\r\n" not in self.got:
            self._more()
        head, _, self.got = self.got.partition(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head)
        assert found is not None, head
        size = int(found[1])
        while len(self.got) < size:
            self._more()
        body, self.got = self.got[:size], self.got[size:]
        assert re.search(rb"\r\ndate: \w{3}, \d\d \w{3} \d{4} ", head)
        return re.sub(rb"\r\ndate: [^\r]*", b"", head), body

    def _more(self) -> None:
        more = self.socket.recv(65536)
        assert more, "the server has closed the connection"
        self.got += more

    def ask(self, raw: bytes) -> tuple[bytes, bytes]:
        self.send(raw)
        return self.answer()

    def in_pieces(self, raw: bytes) -> tuple[bytes, bytes]:
        """The ordinary way: what does not come whole is parsed."""
        cut = raw.index(b"\r\n\r\n") + 2
        self.send(raw[:cut])
        time.sleep(0.02)
        return self.ask(raw[cut:])

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def line(server: Server) -> Iterator[Line]:
    with closing(Line(server)) as made:
        yield made


ASKED = [
    *({"text": text} for text in TEXTS),
    *({"text": TEXTS[0], **more} for more in (
        {"k": 1}, {"k": 900}, {"threshold": 0.3}, {"threshold": "auto"}, {"guess": True}, {"model": "topics"},
        {"languages": ["en"]}, {"explain": True},
    )),
    {"texts": TEXTS[:3]},
    *({"text": TEXTS[0], **more} for more in (
        {"k": 0}, {"k": 1001}, {"model": "none"}, {"unknown": 1}, {"languages": ["x"] * 9}, {"threshold": "no"},
    )),
    b"{", b"[]", b"\xff", b'{"text": "\\ud800"}', {"text": "a" * 60_000}, {"text": 5}, {"text": None},
]  # fmt: skip


def test_the_same_bytes_as_the_ordinary_way(server: Server, line: Line) -> None:
    for asked in ASKED:
        raw = request(asked)
        quick = [line.ask(raw), line.ask(raw)]  # a head that is new, and one that is known
        with closing(Line(server)) as other:
            assert quick == [other.in_pieces(raw)] * 2


def test_requests_one_after_another_keep_their_order(server: Server, tagger: xt.Tagger, line: Line) -> None:
    """Pipelined, in one piece and in many, with others between that take the ordinary way."""
    raws = [request({"text": text, "k": 2}) for text in TEXTS]
    other = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wanted = [line.ask(raw) for raw in raws]
    line.send(b"".join(raw + other for raw in raws))
    for one in wanted:
        assert line.answer() == one
        assert b'"status":"ok"' in line.answer()[1]
    for raw in raws:
        line.send(raw)
        line.send(other)
        line.send(raw)
    for one in wanted:
        assert line.answer() == one
        assert b'"status":"ok"' in line.answer()[1]
        assert line.answer() == one
    stream = b"".join(raws)
    for begin in range(0, len(stream), 37):
        line.send(stream[begin : begin + 37])
    assert [line.answer() for _ in wanted] == wanted


def test_chunks_and_clients_that_ask_before_they_send(line: Line) -> None:
    raw = json.dumps({"text": TEXTS[0]}).encode()
    wanted = line.ask(request(raw))
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (raw[:9], raw[9:])) + b"0\r\n\r\n"
    assert line.ask(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode() + chunked) == wanted
    line.send(f"{HEAD}Expect: 100-continue\r\nContent-Length: {len(raw)}\r\n\r\n".encode())
    while not line.got.endswith(b"\r\n\r\n"):
        line._more()
    assert line.got == b"HTTP/1.1 100 Continue\r\n\r\n"
    line.got = b""
    assert line.ask(raw) == wanted
    assert line.ask(request(raw)) == wanted


def test_who_wants_the_connection_closed(line: Line) -> None:
    wanted = line.ask(request({"text": TEXTS[0]}))
    head, body = line.ask(request({"text": TEXTS[0]}, HEAD + "Connection: close\r\n"))
    assert (head, body) == (wanted[0] + b"\r\nconnection: close", wanted[1])
    assert line.socket.recv(10) == b""


def test_heads_that_change_all_the_time(server: Server, line: Line) -> None:
    wanted = line.ask(request({"text": TEXTS[0]}))
    for i in range(30):
        assert line.ask(request({"text": TEXTS[0]}, f"{HEAD}X-Request-Id: {i}\r\n")) == wanted
    assert line.ask(request({"text": TEXTS[0]})) == wanted


def test_other_hosts_are_refused_all_the_same(line: Line) -> None:
    for _ in range(2):
        assert b" 421 " in line.ask(request({"text": TEXTS[0]}, HEAD.replace("localhost", "evil.example")))[0]
    assert b" 200 " in line.ask(request({"text": TEXTS[0]}))[0]


def test_tokens_are_asked_for_every_time(folder: Path) -> None:
    server = Server(folder, env={"XTRELLIS_TOKEN": "secret"})
    try:
        with closing(Line(server)) as line:
            for _ in range(3):
                assert b" 401 " in line.ask(request({"text": TEXTS[0]}))[0]
                right = request({"text": TEXTS[0]}, HEAD + "Authorization: Bearer secret\r\n")
                assert b" 200 " in line.ask(right)[0]
                wrong = request({"text": TEXTS[0]}, HEAD + "Authorization: Bearer sekret\r\n")
                assert b" 401 " in line.ask(wrong)[0]
    finally:
        assert server.stop() == 0


def test_sites_that_may_ask_are_told_so(folder: Path) -> None:
    server = Server(folder, "--cors", "https://a.example")
    try:
        with closing(Line(server)) as line:
            plain = line.ask(request({"text": TEXTS[0]}))
            for _ in range(2):
                told = line.ask(request({"text": TEXTS[0]}, HEAD + "Origin: https://a.example\r\n"))
                assert b"access-control-allow-origin: https://a.example" in told[0]
                assert line.ask(request({"text": TEXTS[0]}, HEAD + "Origin: https://b.example\r\n")) == plain
    finally:
        assert server.stop() == 0


def test_they_are_counted_logged_and_limited(folder: Path, tmp_path: Path) -> None:
    server = Server(folder, "--access-log", tmp_path / "log", "--max-k", 50)
    try:
        with closing(Line(server)) as line:
            for _ in range(4):
                assert b" 200 " in line.ask(request({"text": TEXTS[0], "k": 50}))[0]
                assert b" 422 " in line.ask(request({"text": TEXTS[0], "k": 51}))[0]
        counted = server.get("/metrics").raw.decode()
        assert 'xtrellis_requests_total{route="/tag",status="2xx"} 4\n' in counted
        assert 'xtrellis_requests_total{route="/tag",status="4xx"} 4\n' in counted
        assert 'xtrellis_request_seconds_count{route="/tag"} 8\n' in counted
        assert 'xtrellis_texts_total{model="topics"} 4\n' in counted
        assert server.metric("xtrellis_in_flight") == 1  # the one that asks
    finally:
        assert server.stop() == 0
    lines = [json.loads(one) for one in (tmp_path / "log").read_text().splitlines()]
    mine = [one for one in lines if one["path"] == "/tag"]
    assert [(one["status"], one["model"], one["texts"]) for one in mine] == [(200, "topics", 1), (422, "topics", 1)] * 4
    assert all(one["client"] == "127.0.0.1" and one["bytes"] > 20 and one["ms"] >= 0 for one in mine)
    assert TEXTS[0] not in (tmp_path / "log").read_text()


def test_who_leaves_is_not_waited_for(folder: Path) -> None:
    server = Server(folder)
    try:
        for _ in range(50):
            with closing(Line(server)) as line:
                line.send(request({"text": TEXTS[0]}))
        assert server.tag(TEXTS[0])
        deadline = time.monotonic() + 30
        while server.metric("xtrellis_in_flight") > 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert server.metric("xtrellis_in_flight") == 1
        assert server.metric("xtrellis_faults_total") == 0
    finally:
        assert server.stop() == 0


def test_silence_between_requests(folder: Path) -> None:
    """A connection that has begun a head and says no more is closed; one that rests a little is not."""
    server = Server(folder, "--max-seconds", "1")
    try:
        with closing(Line(server)) as rests, closing(Line(server)) as half:
            for line in (rests, half):
                assert b" 200 " in line.ask(request({"text": TEXTS[0]}))[0]
            half.send(b"POST /tag HTTP/1.1\r\nHost: local")
            assert half.socket.recv(10) == b""
            assert b" 200 " in rests.ask(request({"text": TEXTS[0]}))[0]
    finally:
        assert server.stop() == 0


def test_what_is_known_of_heads_is_bounded(folder: Path) -> None:
    app = App(Settings(models=(("topics", str(folder)),)))
    for i in range(HEADS + 50):
        assert app.quick.length(f"{HEAD}X: {i}\r\nContent-Length: 20\r\n\r\n".encode()) == 20
    assert 0 < len(app.quick._lengths) <= HEADS
    long = f"{HEAD}X: {'x' * LONGEST}\r\nContent-Length: 20\r\n\r\n".encode()
    assert app.quick.length(long) is None


@pytest.mark.parametrize(
    "more",
    [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 0",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 70000",
        "Content-Length: 5\r\nConnection: close",
        "Content-Length: 5\r\nExpect: 100-continue",
        "Content-Length: 5\r\nConnection: upgrade\r\nUpgrade: websocket",
        "Content-Length: 5\r\nAuthorization: Bearer x",
        "Content-Length: 5\r\nAccept: application/x-ndjson",
        "Content-Length: 5\r\nContent-Type: text/plain",
        "Content-Length: 5\r\nHost: other",
        "Content-Length: +5",
        "Content-Length: 5\r\n X: folded",
        "Content-Length : 5",
        "X: y",
    ],
)
def test_heads_that_are_looked_at_again(folder: Path, more: str) -> None:
    app = App(Settings(models=(("topics", str(folder)),)))
    assert app.quick.length(f"{HEAD}{more}\r\n\r\n".encode()) is None
    assert app.quick.length(f"{HEAD}Content-Length: 5\r\n\r\n".encode()) == 5
    for start in ("GET /tag HTTP/1.1", "POST /tag HTTP/1.0", "POST /tag?k=1 HTTP/1.1", "POST /tags HTTP/1.1"):
        head = f"{HEAD}Content-Length: 5\r\n\r\n".replace("POST /tag HTTP/1.1", start)
        assert app.quick.length(head.encode()) is None
