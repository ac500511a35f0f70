"""Whatever is sent gets a clear 4xx, and the next request its answer."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

import pytest
from serve_world import Server

GOOD = "bread in the oven"
JSON = {"Content-Type": "application/json"}
HALF = b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON"),
        (b'{"text": "\\ud800"}', 400, "not JSON"),
        (b"[" * 100_000, 422, "object"),
        (b'{"text": ' + b"[" * 100_000, 422, "str"),
        (b"[]", 422, "object"),
        (b'"text"', 422, "object"),
        (b"{}", 422, "either text"),
        (b'{"text": "a", "texts": ["b"]}', 422, "either text"),
        (b'{"text": 5}', 422, "$.text"),
        (b'{"text": null}', 422, "either text"),
        (b'{"texts": []}', 422, "length"),
        (b'{"texts": ["a", null]}', 422, "$.texts[1]"),
        (b'{"text": "a", "k": 0}', 422, "$.k"),
        (b'{"text": "a", "k": "5"}', 422, "$.k"),
        (b'{"text": "a", "k": 5.5}', 422, "$.k"),
        (b'{"text": "a", "k": 1e999}', 422, "$.k"),
        (b'{"text": "a", "k": 99999999999999999999999}', 422, "at most 1000"),
        (b'{"text": "a", "k": 1001}', 422, "at most 1000"),
        (b'{"text": "a", "threshold": "automatic"}', 422, "$.threshold"),
        (b'{"text": "a", "guess": 1}', 422, "$.guess"),
        (b'{"text": "a", "tekst": 1}', 422, "tekst"),
        (b'{"text": "a", "model": "other"}', 422, "there is: topics"),
        (b'{"text": "a", "model": "../../etc/passwd"}', 422, "there is no model"),
        (b'{"texts": ["a", "b"], "explain": true}', 422, "one text"),
        (b'{"text": "' + b"a" * 100_001 + b'"}', 413, "100,001 characters"),
        (b'{"texts": ["a", "' + b"a" * 100_001 + b'"]}', 413, "text 2 has"),
        (b'{"text": "' + b"a" * 300_000 + b'"}', 413, "larger than 300,000 bytes"),
        (b'{"text": "' + b"a" * 900_000 + b'"}', 413, "larger than 300,000 bytes"),
    ],
)
def test_bodies(server: Server, body: bytes, status: int, says: str) -> None:
    answer = server.ask("POST", "/tag", body, JSON)
    assert answer.status == status, answer.raw
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status
    assert says in answer.json["detail"]
    assert server.tag(GOOD)[0]["label"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "//", 404),
        ("GET", "/models/..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/models/other", 404),
        ("GET", "/models/topics/tree?node=-1", 400),
        ("GET", "/models/topics/tree?node=x", 400),
        ("GET", "/labels?limit=0", 400),
        ("GET", "/labels?limit=9999", 400),
        ("GET", "/labels?q=%ff", 400),
        ("GET", "/labels?" + "&".join(f"a{i}=1" for i in range(200)), 400),
        ("GET", "/labels?order=size", 400),
        ("GET", "/tag", 405),
        ("PUT", "/models", 405),
        ("DELETE", "/models/topics", 405),
        ("PATCH", "/v1/projects/topics/learn", 405),
    ],
)
def test_addresses(server: Server, method: str, path: str, status: int) -> None:
    answer = server.ask(method, path)
    assert answer.status == status
    assert answer.json["status"] == status
    assert ("allow" in answer.headers) == (status == 405)


def test_types_of_bodies(server: Server) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x" * 500):
        answer = server.ask("POST", "/tag", b'{"text": "a"}', {"Content-Type": kind})
        assert answer.status == 415
    lines = server.ask("POST", "/tag", b'{"text": "a"}\n{"text": 1}\n', {"Content-Type": "application/x-ndjson"})
    assert (lines.status, "line 2" in lines.json["detail"]) == (422, True)


def test_odd_texts_are_texts(server: Server) -> None:
    for text in (
        "\x00",
        "a\x00b oven",
        "\u202e\u2066oven",
        "<script>alert(1)</script>",
        "\U0010ffff",
        "oven " * 19_000,
    ):
        assert server.post("/tag", {"text": text}).status == 200


def test_a_text_of_50_megabytes(server: Server, folder: Path) -> None:
    """Refused in words by default, in whatever way it comes; read where the server was told to."""
    text = "oven " * 10_000_000
    usual = Server(folder)
    try:
        answer = usual.post("/tag", {"text": text})
        assert (answer.status, "larger than 16,777,216 bytes" in answer.json["detail"]) == (413, True)
        assert usual.tag(GOOD)
    finally:
        assert usual.stop() == 0
    with suppress(OSError):  # more than four times too much is not read to its end: who only sends hears nothing
        assert server.post("/tag", {"text": text}).status == 413
    assert server.tag(GOOD)
    patient = Server(folder, "--max-body", 60_000_000, "--max-text", 60_000_000)
    try:
        assert patient.tag(text)[0]["label"] == patient.tag("oven")[0]["label"]
    finally:
        assert patient.stop() == 0


def test_what_is_not_http(server: Server) -> None:
    for sent in (
        b"\x00" * 64,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /tag HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /tag HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz",
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            first = connection.recv(100)
            assert first == b"" or b" 4" in first.splitlines()[0]
    assert server.tag(GOOD)


def test_slow_clients_are_sent_away(folder: Path) -> None:
    server = Server(folder, "--max-seconds", "1")
    try:
        silent = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(300)]
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as slow:
            slow.sendall(HALF)
            assert server.tag(GOOD)
            assert b" 408 " in slow.recv(200)
        for connection in silent:
            assert connection.recv(1) == b""
            connection.close()
        assert server.tag(GOOD)
    finally:
        assert server.stop() == 0


def test_too_much_at_a_time(folder: Path) -> None:
    server = Server(folder, "--max-concurrent", "3")
    waiting = []
    try:
        for _ in range(3):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            connection.sendall(HALF)
            waiting.append(connection)
        for _ in range(100):
            answer = server.post("/tag", {"text": GOOD})
            if answer.status == 429:
                break
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
        assert server.get("/health").status == 200
        for connection in waiting:
            connection.close()
        while server.post("/tag", {"text": GOOD}).status == 429:
            pass
    finally:
        assert server.stop() == 0
