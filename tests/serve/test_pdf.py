"""PDF files become texts, and hostile ones harm nobody but the process that reads them."""

from __future__ import annotations

import asyncio
import zlib
from pathlib import Path
from typing import Any, cast

import pytest
from pdf_world import made, page
from serve_world import Answered, Server

from xtrellis.serve.pdf import reading as pdf
from xtrellis.serve.problems import Problem

KIND = {"Content-Type": "application/pdf"}
TEXT = "knead the dough with flour and yeast"


def sent(server: Server, raw: bytes, path: str = "/text") -> Answered:
    return server.ask("POST", path, raw, KIND)


def test_the_text_of_a_file(server: Server) -> None:
    answer = sent(server, made(page(TEXT), page("then into the oven")))
    assert answer.status == 200, answer.raw
    assert answer.json["text"].split() == f"{TEXT} then into the oven".split()
    assert (answer.json["pages"], answer.json["read"]) == (2, 2)


def test_labels_of_a_file_are_those_of_its_text(server: Server) -> None:
    raw = made(page(TEXT))
    tagged = sent(server, raw, "/tag?k=3")
    assert tagged.json["tags"] == server.tag(sent(server, raw).json["text"], k=3)
    assert server.get("/models/topics").json["reads_pdf"] is True


def test_long_files_are_read_in_part(server: Server) -> None:
    answer = sent(server, made(*[page("flour")] * (pdf.PAGES + 5))).json
    assert (answer["pages"], answer["read"]) == (pdf.PAGES + 5, pdf.PAGES)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "no PDF file"),
        (b"PK\x03\x04 a zip file", "no PDF file"),
        (b"%PDF-1.7\n", "is damaged"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 50, "is damaged"),
        (made(b""), "has no text"),
        (made(page(TEXT))[:-200], "PDF file"),
        (made(page(TEXT), kids="2 0 R"), "PDF file"),  # pages that are their own children
        (made(zlib.compress(page(TEXT) + b" " * 200_000_000), filters=b"/Filter/FlateDecode"), "PDF file"),
    ],
    ids=["empty", "zip", "nothing", "noise", "no text", "cut off", "circle", "bomb"],
)
def test_what_cannot_be_read_is_refused(server: Server, raw: bytes, says: str) -> None:
    answer = sent(server, raw)
    assert answer.status in (200, 422)  # what a library saves of a damaged file is welcome
    if answer.status == 422:
        assert says in answer.json["detail"]
    assert server.get("/health").status == 200


def test_damage_anywhere(server: Server) -> None:
    """Every answer is the text or a 422, and the server goes on."""
    raw, seen = made(page(TEXT), page("then into the oven")), set()
    for place in range(0, len(raw), max(1, len(raw) // 12)):
        seen.add(sent(server, raw[:place] + b"\xff<<[(" + raw[place + 5 :]).status)
    assert seen <= {200, 422}
    assert server.metric("xtrellis_faults_total") == 0


class Waiting:
    """A client that has not left."""

    gone = False


def test_a_file_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of two million drawings: the child's time is up, and nothing of it is left."""
    monkeypatch.setattr(pdf, "SECONDS", 1.0)
    endless = made(b"BT /F1 12 Tf " + b"1 0 0 1 5 5 Tm (a) Tj " * 2_000_000 + b"ET")
    with pytest.raises(Problem, match=r"within 1 s|too much to read"):
        asyncio.run(pdf._by_child(cast(Any, Waiting()), endless, 1000))
    children = [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]
    assert not [pid for pid in children if b"pdf.child" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MEMORY", 60 << 20)
    with pytest.raises(Problem, match="takes too much to read"):
        asyncio.run(pdf._by_child(cast(Any, Waiting()), made(b" " * 100_000_000 + page(TEXT)), 1000))


def test_another_type_is_refused(server: Server) -> None:
    answer = server.ask("POST", "/text", b"%PDF-", {"Content-Type": "text/plain"})
    assert (answer.status, "application/pdf" in answer.json["detail"]) == (415, True)


def test_a_file_that_is_too_large(server: Server) -> None:
    assert sent(server, b"%PDF-" + b"x" * 400_000).status == 413
