"""A model with a vocabulary: answers have ids, and two labels of one name are two."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from serve_world import Server

import xtrellis as xt

TEXTS = ["fish in the lake swim", "fish from the oven", "boats on the lake", "bread from the oven"] * 30
IDS = [["v:animal"], ["v:food"], ["v:boats"], ["v:bread"]] * 30
LABELS = [
    xt.Label("v:animal", {"en": "fish"}),
    xt.Label("v:food", {"en": "fish"}),
    xt.Label("v:boats", {"en": "boats", "fi": "veneet"}),
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
