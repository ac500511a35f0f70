"""A model with a vocabulary: answers have ids, and two labels of one name are two."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from serve_world import Answered, Server

import xtrellis as xt

TEXTS = ["fish in the lake swim", "fish from the oven", "boats on the lake", "bread from the oven"] * 30
IDS = [["v:animal"], ["v:food"], ["v:boats"], ["v:bread"]] * 30
LABELS = [
    xt.Label("v:animal", {"en": "fish"}),
    xt.Label("v:food", {"en": "fish"}),
    xt.Label("v:boats", {"en": "boats", "fi": "veneet"}, notation=("B1",)),
    xt.Label("v:bread", {"en": "bread"}),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("vocabulary") / "library"
    model = xt.LinearTree(index=xt.BalancedTree(max_leaf=2), threads=1)
    made = xt.Tagger(xt.Vectorizer(), model, vocabulary=xt.Vocabulary(LABELS), language="en", keep_rows=True)
    made.fit(TEXTS, IDS).save(folder)
    running = Server(folder, "--feedback", folder.parent / "kept", "--learn")
    yield running
    assert running.stop() == 0


def test_labels_of_one_name_are_told_apart(server: Server) -> None:
    for text, id in (("swim in the lake, fish", "v:animal"), ("fish from an oven", "v:food")):
        many = server.post("/tag", {"texts": [text] * 20, "k": 1}).json
        one = server.post("/tag", {"text": text, "k": 1}).json
        assert {tag["id"] for row in many["results"] for tag in row["tags"]} == {id}
        assert [(tag["id"], tag["label"]) for tag in one["tags"]] == [(id, "fish")]
        asked = urlencode({"text": text, "limit": 1}).encode()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        annif = server.ask("POST", "/v1/projects/library/suggest", asked, form).json
        assert [(found["uri"], found["label"]) for found in annif["results"]] == [(id, "fish")]


def test_decisions_go_by_ids(server: Server, tmp_path_factory: pytest.TempPathFactory) -> None:
    answer = server.post("/feedback", {"text": "a lake of boats", "labels": ["veneet", "v:animal"]})
    assert (answer.status, answer.json["unknown"], answer.json["learned"]) == (200, [], True)
    kept = next(tmp_path_factory.getbasetemp().glob("vocabulary*/kept/library.jsonl"))
    assert '"labels":["v:boats","v:animal"]' in kept.read_text().replace(": ", ":").replace(", ", ",")


def test_names_in_the_languages_that_are_asked_for(server: Server) -> None:
    text = "boats on the lake"

    def names(**asked: object) -> dict[str, str]:
        return {tag["id"]: tag["label"] for tag in server.post("/tag", {"text": text, "k": 4, **asked}).json["tags"]}

    assert names()["v:boats"] == "boats"
    for languages in (["fi"], ["sv", "fi"], ["FI-fi"]):
        found = names(languages=languages)
        assert (found["v:boats"], found["v:bread"]) == ("veneet", "bread")  # in another where there is none in this
    assert names(languages=["en", "fi"])["v:boats"] == "boats"
    many = server.post("/tag", {"texts": [text] * 5, "k": 1, "languages": ["fi"]}).json["results"]
    assert [(tag["id"], tag["label"]) for one in many for tag in one["tags"]] == [("v:boats", "veneet")] * 5
    line = json.dumps({"text": text}).encode()
    lines = server.ask("POST", "/tag?k=1&languages=sv,fi", line, {"Content-Type": "application/x-ndjson"}).lines
    assert lines[0]["tags"][0]["label"] == "veneet"
    assert server.get("/models/library").json["languages"] == ["en", "fi"]
    assert server.post("/tag", {"text": text, "languages": ["x"] * 9}).status == 422
    assert server.post("/tag", {"text": text, "languages": [""]}).status == 422
    assert server.post("/tag", {"text": text, "languages": "fi"}).status == 422


def test_languages_and_notations_as_annif_has_them(server: Server) -> None:
    def suggest(**asked: object) -> Answered:
        body = urlencode({"text": "boats on the lake", "limit": 1, **asked}).encode()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return server.ask("POST", "/v1/projects/library/suggest", body, form)

    first = {"uri": "v:boats", "notation": "B1"}
    for language, label in (("", "boats"), ("en", "boats"), ("fi", "veneet")):
        found = suggest(language=language).json["results"][0]
        assert found == {**first, "label": label, "score": found["score"]}
    assert suggest(language="sv").json["detail"] == 'language "sv" not supported by vocabulary'
    assert server.get("/v1/vocabs").json["vocabs"][0]["languages"] == ["en", "fi"]
