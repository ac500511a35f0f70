"""Annif's API: its paths, bodies and errors."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from serve_world import TOPICS, Answered, Server, texts_and_labels

import xtrellis as xt

TEXT = "bread in the oven with salt"


def suggest(server: Server, **form: object) -> Answered:
    body = urlencode(form).encode()
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    return server.ask("POST", "/v1/projects/topics/suggest", body, kind)


def test_what_there_is(server: Server) -> None:
    assert server.get("/v1/").json == {"title": "Annif REST API", "version": "1.4.3"}
    project = server.get("/v1/projects/topics").json
    assert server.get("/v1/projects").json == {"projects": [project]}
    assert (project["project_id"], project["name"], project["language"]) == ("topics", "Topics", "en")
    assert project["is_trained"] is True
    assert project["vocab"]["size"] == len(TOPICS)
    assert server.get("/v1/vocabs").json == {"vocabs": [project["vocab"]]}


def test_suggestions_are_the_tags(server: Server, tagger: xt.Tagger) -> None:
    found = suggest(server, text=TEXT, limit=4).json["results"]
    assert found == [
        {"uri": tag.label, "label": tag.label, "notation": None, "score": tag.probability}
        for tag in tagger.tag(TEXT, 4)
        if tag.probability
    ]
    assert len(suggest(server, text=TEXT).json["results"]) <= 10
    assert suggest(server, text=TEXT, limit=0).json == {"results": []}
    assert all(one["score"] >= 0.4 for one in suggest(server, text=TEXT, threshold=0.4).json["results"])
    assert suggest(server, text=TEXT, limit=10**6, language="en", metadata_title="x").status == 200
    assert suggest(server, text="").json == {"results": []}


def test_batches(server: Server) -> None:
    texts = texts_and_labels(32, 3)[0]
    documents = [{"text": text, "document_id": f"d{i}"} for i, text in enumerate(texts)]
    found = server.post("/v1/projects/topics/suggest-batch?limit=2", {"documents": documents}).json
    assert [one["document_id"] for one in found] == [document["document_id"] for document in documents]
    for text, one in zip(texts, found, strict=True):
        assert one["results"] == suggest(server, text=text, limit=2).json["results"]
    assert server.post("/v1/projects/topics/suggest-batch", {"documents": []}).json == []
    too_many = server.post("/v1/projects/topics/suggest-batch", {"documents": documents + documents[:1]})
    assert (too_many.status, too_many.json["title"]) == (400, "Bad Request")


@pytest.mark.parametrize(
    ("form", "status", "says"),
    [
        ({}, 400, "'text' is a required property"),
        ({"text": "a", "limit": "-1"}, 400, "limit"),
        ({"text": "a", "limit": "x"}, 400, "limit"),
        ({"text": "a", "threshold": "2"}, 400, "threshold"),
        ({"text": "a", "threshold": "nan"}, 400, "threshold"),
        ({"text": "a", "language": "fi"}, 400, 'language "fi" not supported by vocabulary'),
    ],
)
def test_forms_that_are_wrong(server: Server, form: dict[str, str], status: int, says: str) -> None:
    answer = suggest(server, **form)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert says in answer.json["detail"]


def test_projects_that_are_not_there(server: Server) -> None:
    for path in ("/v1/projects/none", "/v1/projects/..", "/v1/projects/%00"):
        answer = server.get(path)
        assert (answer.status, answer.json["title"]) == (404, "Project not found")
    answer = server.post("/v1/projects/none/learn", [])
    assert (answer.status, answer.json["detail"]) == (404, "Project 'none' not found")
