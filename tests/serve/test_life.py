"""Models that are replaced, decisions, workers that die, clients that leave, and the end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from serve_world import Server, trained

import xtrellis as xt

TEXT = "bread in the oven with salt"


def wait(until: object, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not until():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_replaced_model_takes_over_without_a_lost_or_mixed_answer(tmp_path: Path) -> None:
    versions = [trained("xr-linear", seed=1), trained("one-vs-all", seed=2)]
    wanted = [[(tag.label, tag.score) for tag in version.tag(TEXT)] for version in versions]
    assert wanted[0] != wanted[1]
    folder = tmp_path / "topics"
    versions[0].save(folder)
    server, stop = Server(folder), threading.Event()
    seen: list[list[tuple[str, float]]] = []
    failed: list[object] = []

    def ask() -> None:
        while not stop.is_set():
            try:
                seen.append([(tag["label"], tag["score"]) for tag in server.tag(TEXT)])
            except BaseException as error:
                failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for turn in range(1, 5):
            number = server.get("/health").json["models"]["topics"]
            versions[turn % 2].save(folder)
            wait(lambda before=number: server.get("/health").json["models"]["topics"] > before)
            assert [(tag["label"], tag["score"]) for tag in server.tag(TEXT)] == wanted[turn % 2]
        stop.set()
        for thread in threads:
            thread.join()
        assert failed == []
        assert all(one in wanted for one in seen)
        assert all(one in seen for one in wanted)
        assert server.metric("xtrellis_reloads_total") >= 4
    finally:
        stop.set()
        assert server.stop() == 0


def test_half_a_model_changes_nothing(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "topics"
    shutil.copytree(folder, mine)
    server = Server(mine)
    try:
        before = server.tag(TEXT)
        new = tmp_path / "new"
        shutil.copytree(folder, new)
        largest = max(new.glob("*.safetensors"), key=lambda file: file.stat().st_size)
        whole = largest.read_bytes()
        largest.write_bytes(whole[: len(whole) // 2])
        mine.rename(tmp_path / "old")
        new.rename(mine)
        wait(lambda: server.get("/health").json["status"] == "degraded")
        assert server.tag(TEXT) == before
        assert server.get("/health").json["faulty"] == ["topics"]
        assert "truncated" in server.get("/models/topics").json["fault"]
        (mine / largest.name).write_bytes(whole)
        wait(lambda: server.get("/health").json["status"] == "ok")
        assert server.tag(TEXT) == before
        shutil.rmtree(mine)  # what is loaded stays loaded
        time.sleep(1.5)
        assert server.tag(TEXT) == before
    finally:
        assert server.stop() == 0


def test_decisions_are_kept_as_lines_that_train_reads(server: Server, tmp_path: Path) -> None:
    decision = {"text": "a new text\nof two lines", "labels": ["cooking", "Brand new"], "rejected": ["law"]}
    answer = server.post("/feedback", decision)
    assert (answer.status, answer.json["unknown"], answer.json["learned"]) == (200, ["Brand new"], False)
    kept = sorted(tmp_path.parent.glob("feedback*/topics.jsonl"))
    line = json.loads(kept[-1].read_text().splitlines()[-1])
    assert (line["text"], line["labels"], line["rejected"]) == (decision["text"], decision["labels"], ["law"])
    read = xt.read(kept[-1])
    assert read.texts[-1] == decision["text"]


def test_refused_without_a_place_to_keep_them(folder: Path) -> None:
    server = Server(folder)
    try:
        assert server.post("/feedback", {"text": "a", "labels": []}).status == 403
        refused = server.post("/v1/projects/topics/learn", [{"text": "a", "subjects": [{"uri": "law"}]}])
        assert (refused.status, refused.json["title"]) == (403, "Learning not allowed")
    finally:
        assert server.stop() == 0


def test_learning_changes_the_model_in_every_worker(tmp_path: Path) -> None:
    folder, text = tmp_path / "topics", "quasar nebula telescope star pulsar"
    trained("neighbors").save(folder)
    server = Server(folder, "--workers", 2, "--feedback", tmp_path / "kept", "--learn")
    try:
        assert "law" not in [tag["label"] for tag in server.tag(text, k=3)]
        for _ in range(3):
            taught = [{"text": text, "subjects": [{"uri": "law", "label": "law"}]}] * 20
            assert server.post("/v1/projects/topics/learn", taught).status == 204
        wait(lambda: all(server.tag(text)[0]["label"] == "law" for _ in range(20)))
        assert xt.load(folder).tag(text)[0].label == "law"
        assert xt.load(folder).n_rows == 460
        assert server.metric("xtrellis_learned_total") == 60
        assert len((tmp_path / "kept" / "topics.jsonl").read_text().splitlines()) == 60
    finally:
        assert server.stop() == 0


def test_what_cannot_learn_says_so_at_once(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="this tagger has kept no training rows to learn on from"):
        Server(folder, "--feedback", tmp_path, "--learn")


def test_a_killed_worker_is_replaced(folder: Path) -> None:
    server = Server(folder, "--workers", 2)
    try:
        workers: set[int] = set()
        wait(lambda: workers.add(server.get("/health").json["worker"]) or len(workers) == 2)
        asked = server.metric('xtrellis_texts_total{model="topics"}')
        for _ in range(20):
            server.tag(TEXT)
        assert server.metric('xtrellis_texts_total{model="topics"}') == asked + 20  # whichever worker is asked
        os.kill(workers.pop(), signal.SIGKILL)
        left = workers.pop()

        def others() -> bool:
            try:
                return server.get("/health").json["worker"] != left
            except OSError:  # a connection that the dead one had taken
                return False

        wait(others)
        assert server.tag(TEXT)
        assert server.metric('xtrellis_texts_total{model="topics"}') >= asked + 20
    finally:
        assert server.stop() == 0


def test_what_nobody_waits_for_is_not_done(folder: Path) -> None:
    server = Server(folder)
    try:
        body = json.dumps({"texts": [f"{TEXT} {i} " * 20 for i in range(9000)]}).encode()
        head = (
            "POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Accept: application/x-ndjson\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head + body)
            assert b" 200 " in connection.recv(100)
        wait(lambda: server.metric("xtrellis_cancelled_total") > 0)
        wait(lambda: server.metric("xtrellis_in_flight") == 1)  # the one that asks
        assert server.metric('xtrellis_texts_total{model="topics"}') < 9000
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_requests_under_way_are_finished_before_the_end(folder: Path, number: int) -> None:
    server, lines = Server(folder), []
    body = "".join(json.dumps({"text": f"{TEXT} {i} " * 10}) + "\n" for i in range(8000)).encode()

    def ask() -> None:
        answer = server.ask("POST", "/tag", body, {"Content-Type": "application/x-ndjson"})
        lines.extend(answer.lines)

    asking = threading.Thread(target=ask)
    asking.start()
    wait(lambda: server.metric("xtrellis_batches_total") > 0)
    assert server.stop(number) == 0
    asking.join()
    assert len(lines) == 8000
    assert all(line["tags"] for line in lines)


def test_tokens(folder: Path, tmp_path: Path) -> None:
    tokens = {"XTRELLIS_TOKEN": "reader", "XTRELLIS_LEARN_TOKEN": "teacher"}
    server = Server(folder, "--feedback", tmp_path, env=tokens)
    decision = {"text": TEXT, "labels": ["cooking"]}
    try:
        assert server.get("/health").status == 200
        assert server.get("/").status == 200
        for wrong in (
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": "Basic reader"},
            {"Authorization": "reader"},
        ):
            answer = server.post("/tag", {"text": TEXT}, **wrong)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="xtrellis"')
            assert server.ask("GET", "/metrics", None, wrong).status == 401
        for right in ("reader", "teacher"):
            assert server.post("/tag", {"text": TEXT}, Authorization=f"Bearer {right}").status == 200
        assert server.post("/feedback", decision, Authorization="Bearer reader").status == 403
        assert server.post("/feedback", decision, Authorization="Bearer teacher").status == 200
        assert "reader" not in server.said()
    finally:
        assert server.stop() == 0


def test_names_of_the_host_and_other_sites(server: Server, folder: Path) -> None:
    assert server.get("/models", Host="attacker.example").status == 421
    assert server.get("/models", Host=f"localhost:{server.port}").status == 200
    mine = server.get("/models", Origin="https://other.example")
    assert "access-control-allow-origin" not in mine.headers
    named = Server(folder, "--allow-host", "tags.example", "--cors", "https://other.example")
    try:
        assert named.get("/models", Host="tags.example").status == 200
        asked = named.get("/models", Origin="https://other.example")
        assert asked.headers["access-control-allow-origin"] == "https://other.example"
        assert "access-control-allow-origin" not in named.get("/models", Origin="https://third.example").headers
        before = named.ask("OPTIONS", "/tag", None, {"Origin": "https://other.example"})
        assert (before.status, "POST" in before.headers["access-control-allow-methods"]) == (204, True)
    finally:
        assert named.stop() == 0


def test_the_log_has_lines_but_no_texts(folder: Path, tmp_path: Path) -> None:
    server = Server(folder, "--access-log", tmp_path / "log")
    server.tag("a secret text in the oven")
    server.get("/nothing")
    assert server.stop() == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    asked = [line for line in lines if line["path"] == "/tag"]
    assert [(line["status"], line["model"], line["texts"]) for line in asked] == [(200, "topics", 1)]
    assert any(line["status"] == 404 for line in lines)
    assert "secret" not in (tmp_path / "log").read_text()


def test_the_log_has_texts_if_asked(folder: Path, tmp_path: Path) -> None:
    server = Server(folder, "--access-log", tmp_path / "log", "--log-texts")
    server.tag("a text in the oven")
    assert server.stop() == 0
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [line["content"] for line in lines if line["path"] == "/tag"] == [["a text in the oven"]]


def test_mistakes_at_the_start(folder: Path, tmp_path: Path) -> None:
    for args, says in (
        ([tmp_path / "none"], "there is no model"),
        ([folder, folder], "two models are called 'topics'"),
        ([f"a b={folder}"], "id must be letters"),
        ([folder, "--learn"], "--learn needs --feedback"),
        ([folder, "--host", "192.0.2.1"], "cannot listen"),
    ):
        with pytest.raises(RuntimeError, match=says) as caught:
            Server(*args)
        assert "Traceback" not in str(caught.value)


def test_a_long_request_is_answered_by_one_version(tmp_path: Path) -> None:
    """Its model is replaced in the middle: the lines that follow are still of the version it began with."""
    folder, asked = tmp_path / "topics", [f"{TEXT} {i}" for i in range(10_000)]  # 10 MB of lines: no socket holds them
    first, second = trained(seed=0), trained(seed=7)
    first.save(folder)
    right, other = ({tag.score for tag in one.tag(asked[0], 12)} for one in (first, second))
    assert not right & other - {1.0}
    server = Server(folder, "--max-body", 10_000_000)
    try:
        body = "".join(json.dumps({"text": text}) + "\n" for text in asked).encode()
        head = (
            "POST /tag?k=12 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head + body)
            said = connection.recv(1000)
            assert b" 200 " in said
            second.save(folder)
            wait(lambda: server.get("/health").json["models"]["topics"] == 2)  # while the rest waits to be read
            while more := connection.recv(65536):
                said += more
        assert said.count(b"\n{") + 1 >= 10_000
        assert set(map(float, re.findall(rb'"score":([^,]+),', said))) == right  # whatever their numbers: same words
        assert {tag["score"] for tag in server.tag(asked[0], k=12)} == other
    finally:
        assert server.stop() == 0
