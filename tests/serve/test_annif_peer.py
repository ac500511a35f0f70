"""The real Annif asks our server: suggest, eval, an ensemble with its tfidf, and learning through its client."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from serve_world import TOPICS, Server, texts_and_labels

import xtrellis as xt

ANNIF = Path(__file__).parents[2] / ".venv-annif" / "bin"
if not (ANNIF / "annif").exists():
    pytest.skip("the real Annif is not installed; `make annif-env` does it", allow_module_level=True)

NAMES = {topic: f"http://example.org/topic/{i}" for i, topic in enumerate(TOPICS)}
TEXT = "knead the dough with flour and yeast, then into the oven"
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
def annif(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    home = tmp_path_factory.mktemp("home")
    (home / "projects.cfg").write_text(CONFIG.format(url=server.url))
    vocabulary = "".join(f"<{uri}>\t{re.sub('[<>]', '', topic)}\n" for topic, uri in NAMES.items())
    (home / "vocab.tsv").write_text(vocabulary)
    for name, rows, seed in (("train", 200, 1), ("test", 60, 2)):
        found = zip(*texts_and_labels(rows, seed), strict=True)
        lines = (f"{text}\t{' '.join(f'<{NAMES[topic]}>' for topic in row)}\n" for text, row in found)
        (home / f"{name}.tsv").write_text("".join(lines))

    # Annif's words come from NLTK, whose sentence splitter would be downloaded; one that knows nothing will do.
    punkt = home / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (punkt / name).write_text("")
    env = {**os.environ, "NLTK_DATA": str(home / "nltk_data")}

    def run(*args: str, stdin: str = "") -> str:
        done = subprocess.run(
            [ANNIF / "annif", *args], cwd=home, env=env, input=stdin, capture_output=True, text=True, timeout=200,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "HTTP request failed" not in done.stderr
        return done.stdout

    run("load-vocab", "--language", "en", "topics", "vocab.tsv")
    run("train", "tfidf", "train.tsv")
    return run


def test_suggest(annif: Callable[..., str], server: Server) -> None:
    lines = [line.split("\t") for line in annif("suggest", "ours", "--limit", "3", stdin=TEXT).splitlines()]
    assert [line[0] for line in lines] == [f"<{tag['label']}>" for tag in server.tag(TEXT, k=3)]
    assert lines[0][1] == "baking"


def test_eval(annif: Callable[..., str]) -> None:
    """As good as our own measurement says, which Annif's tfidf is not."""

    def f1(project: str) -> float:
        told = annif("eval", project, "test.tsv")
        found = re.search(r"^F1@5:\s+(\S+)$", told, re.MULTILINE)
        assert found, told
        return float(found[1])

    assert f1("ours") > 0.4
    assert f1("both") > 0.4


def test_ensemble(annif: Callable[..., str]) -> None:
    first = annif("suggest", "both", stdin=TEXT).splitlines()[0]
    assert first.split("\t")[0] == f"<{NAMES['baking']}>"
    assert "True" in annif("show-project", "ours")


def test_learn_with_its_client(annif: Callable[..., str], server: Server) -> None:
    text, uri = "zither quince zephyr oven", NAMES["music"]
    script = (
        "import sys, annif_client\n"
        "client = annif_client.AnnifClient(api_base=sys.argv[1])\n"
        "assert [p['project_id'] for p in client.projects] == ['topics']\n"
        "assert client.suggest('topics', sys.argv[2])\n"
        "documents = [{'text': sys.argv[2], 'subjects': [{'uri': sys.argv[3], 'label': 'music'}]}] * 40\n"
        "print(client.learn('topics', documents))\n"
    )
    arguments = [ANNIF / "python", "-c", script, f"{server.url}/v1/", text, uri]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert annif("suggest", "ours", "--limit", "1", stdin=text).startswith(f"<{uri}>")
