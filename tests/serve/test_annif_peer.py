"""The real Annif asks our server: suggest, eval, an ensemble with its tfidf, and learning through its client."""

from __future__ import annotations

import subprocess

import pytest
from annif_world import BIN, NAMES, TEXT, Home
from serve_world import Server, texts_and_labels

import xtrellis as xt

if not (BIN / "annif").exists():
    pytest.skip("the real Annif is not installed; `make annif-env` does it", allow_module_level=True)

CONFIG = """
[ours]
name=ours
language=en
backend=http
vocab=topics
endpoint={url}/v1/projects/topics/suggest

[tfidf]
name=tfidf
language=en
backend=tfidf
analyzer=simple
vocab=topics
limit=20

[both]
name=both
language=en
backend=ensemble
vocab=topics
sources=ours:2,tfidf:1
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("annif") / "topics"
    texts, labels = texts_and_labels(400, 0)
    named = [[NAMES[name] for name in row] for row in labels]
    xt.Tagger(xt.Vectorizer(), xt.Neighbors()).fit(texts, named).save(folder)
    made = Server(folder, "--feedback", folder.parent / "kept", "--learn")
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="module")
def home(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home(tmp_path_factory.mktemp("home"), CONFIG.format(url=server.url))
    made.run("load-vocab", "--language", "en", "topics", "vocab.tsv")
    made.run("train", "tfidf", "train.tsv")
    return made


def test_suggest(home: Home, server: Server) -> None:
    lines = [line.split("\t") for line in home.run("suggest", "ours", "--limit", "3", stdin=TEXT).splitlines()]
    assert [line[0] for line in lines] == [f"<{tag['label']}>" for tag in server.tag(TEXT, k=3)]
    assert lines[0][1] == "baking"


def test_eval(home: Home) -> None:
    """As good as our own measurement says, which Annif's tfidf is not."""
    assert home.f1("ours") > 0.4
    assert home.f1("both") > 0.4


def test_ensemble(home: Home) -> None:
    first = home.run("suggest", "both", stdin=TEXT).splitlines()[0]
    assert first.split("\t")[0] == f"<{NAMES['baking']}>"
    assert "True" in home.run("show-project", "ours")


def test_learn_with_its_client(home: Home, server: Server) -> None:
    text, uri = "zither quince zephyr oven", NAMES["music"]
    script = (
        "import sys, annif_client\n"
        "client = annif_client.AnnifClient(api_base=sys.argv[1])\n"
        "assert [p['project_id'] for p in client.projects] == ['topics']\n"
        "assert client.suggest('topics', sys.argv[2])\n"
        "documents = [{'text': sys.argv[2], 'subjects': [{'uri': sys.argv[3], 'label': 'music'}]}] * 40\n"
        "print(client.learn('topics', documents))\n"
    )
    arguments = [BIN / "python", "-c", script, f"{server.url}/v1/", text, uri]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert home.run("suggest", "ours", "--limit", "1", stdin=text).startswith(f"<{uri}>")
