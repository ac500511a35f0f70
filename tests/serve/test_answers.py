"""What our API answers is what the tagger answers, alone, together and as lines."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from serve_world import HOSTILE, TOPICS, Server, texts_and_labels

import xtrellis as xt

TEXTS = texts_and_labels(80, 5)[0]


def expected(tagger: xt.Tagger, text: str, k: int = 5, **more: object) -> list[dict[str, object]]:
    return [
        {"id": tag.label, "label": tag.label, "score": tag.score, "probability": tag.probability}
        for tag in tagger.tag(text, k, **more)
    ]


@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 900}, {"threshold": 0.3}, {"threshold": "auto"}])
def test_one_text(server: Server, tagger: xt.Tagger, options: dict[str, object]) -> None:
    for text in TEXTS[:10]:
        assert server.tag(text, **options) == expected(tagger, text, **options)


def test_many_texts(server: Server, tagger: xt.Tagger) -> None:
    found = server.post("/tag", {"texts": TEXTS, "k": 3}).json
    assert [one["tags"] for one in found["results"]] == [expected(tagger, text, 3) for text in TEXTS]
    assert found["model"] == "topics"


def test_lines(server: Server, tagger: xt.Tagger) -> None:
    body = "".join(json.dumps({"text": text, "id": i, "else": 1}) + "\n\n" for i, text in enumerate(TEXTS))
    answer = server.ask("POST", "/tag?k=2", body.encode(), {"Content-Type": "application/x-ndjson"})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert [(line["id"], line["tags"]) for line in answer.lines] == [
        (i, expected(tagger, text, 2)) for i, text in enumerate(TEXTS)
    ]
    accepted = server.post("/tag", {"texts": TEXTS[:9]}, Accept="application/x-ndjson")
    assert [line["tags"] for line in accepted.lines] == [expected(tagger, text) for text in TEXTS[:9]]


def test_requests_that_come_together_get_their_own_answers(server: Server, tagger: xt.Tagger) -> None:
    asked = [(text, k) for text in TEXTS for k in (1, 4)]
    before = server.metric("xtrellis_batches_total")
    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(lambda one: server.tag(one[0], k=one[1]), asked * 3))
    assert found == [expected(tagger, text, k) for text, k in asked] * 3
    assert server.metric("xtrellis_batches_total") - before <= len(asked) * 3


def test_a_text_without_known_words(server: Server) -> None:
    answer = server.post("/tag", {"text": "qqq zzz"}).json
    assert (answer["tags"], answer["reason"]) == ([], "the model knows no word of the text")
    assert server.post("/tag", {"text": ""}).json["reason"] == "the text is empty"
    assert len(server.tag("qqq zzz", guess=True)) == 5


def test_explanations(server: Server, tagger: xt.Tagger) -> None:
    text = "bread in the oven, and a telescope \U0001f52d"
    found = server.post("/tag", {"text": text, "k": 2, "explain": True}).json["tags"]
    alone = server.post("/explain", {"text": text, "label": found[0]["label"]}).json
    assert alone["words"] == found[0]["why"]["words"]
    words = {text[start:end]: push for start, end, push in alone["words"]}
    told = tagger.explain(text, found[0]["label"]).words.that_push()
    assert words == {word.text: word.push for word in told}
    assert alone["paths"][0]["steps"]
    assert server.post("/explain", {"text": text, "label": "no such label"}).status == 422


def test_labels_are_found_as_people_type_them(server: Server) -> None:
    def names(query: str) -> list[str]:
        return [label["label"] for label in server.get(f"/labels?{query}").json["labels"]]

    assert names("q=cafe") == ["Café culture"]
    assert names("q=CULT%20caf") == ["Café culture"]
    assert names("q=%3Cscript") == [HOSTILE]
    assert names("q=science")[0] == "botany (science)"
    assert names("q=zzz") == []
    assert sorted(names("limit=200")) == sorted(TOPICS)
    assert names("order=name&limit=2&offset=1") == sorted(TOPICS, key=str.lower)[1:3]
    for typed in "aeinrs":
        held = {name for name in TOPICS if typed in name.lower().replace("é", "e")}
        assert set(names(f"q={typed}&limit=200")) == held


def test_the_tree_holds_every_label(server: Server) -> None:
    def walk(node: int) -> list[str]:
        there = server.get(f"/models/topics/tree?node={node}").json
        found = [label["label"] for label in there["labels"]]
        for below in there["nodes"]:
            inside = walk(below["node"])
            assert len(inside) == below["n_labels"]
            found += inside
        return found

    assert sorted(walk(0)) == sorted(TOPICS)
    assert server.get("/models/topics/tree?node=9999").status == 404


def test_the_model_card(server: Server) -> None:
    card = server.get("/models/topics").json
    assert (card["labels"], card["rows"], card["kind"]) == (len(TOPICS), 400, "LinearTree")
    assert card["about"]["held_out"]["metrics"]["P@1"] > 50
    assert sum(bin["answers"] for bin in card["about"]["reliability"]["bins"]) > 0
    assert server.get("/models").json["models"][0]["id"] == "topics"


def test_pages_need_nobody_else(server: Server) -> None:
    """Nothing is loaded from elsewhere, and browsers are told to refuse it."""
    found = {name: server.get(name) for name in ("/", "/docs", "/page/main.js", "/page/style.css", "/page/docs.js")}
    for answer in found.values():
        assert answer.status == 200
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert b"http://" not in answer.raw.replace(b"http://www.w3.org/2000/svg", b"")
        assert b"https://" not in answer.raw
        assert b" style=" not in answer.raw
    again = server.get("/page/main.js", **{"If-None-Match": found["/page/main.js"].headers["etag"]})
    assert (again.status, again.raw) == (304, b"")
    for name in ("/page/../settings.py", "/page/%2e%2e/app.py", "/page/%2e%2e%2fapp.py", "/page//etc/passwd", "/page/"):
        assert server.get(name).status == 404
