"""Our backend in the real Annif's own process: train, suggest, eval, learn, an ensemble, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from annif_world import BIN, NAMES, TEXT, Home
from serve_world import texts_and_labels

import xtrellis as xt

PROGRAM = "annif-xtrellis"
if not (BIN / PROGRAM).exists():
    pytest.skip("the real Annif is not installed with our backend; `make annif-env` does it", allow_module_level=True)

CONFIG = """
[tree]
name=tree
language=en
backend=xtrellis
analyzer=snowball(english)
vocab=topics
preset=xr-linear

[best]
name=best
language=en
backend=xtrellis
analyzer=simple
vocab=topics
limit=10
ngram=2

[plain]
name=plain
language=en
backend=xtrellis
vocab=topics
preset=neighbors
allow_learn=true

[without]
name=without
language=en
backend=xtrellis
analyzer=simple
vocab=topics(exclude={excluded})
preset=xr-linear

[tfidf]
name=tfidf
language=en
backend=tfidf
analyzer=simple
vocab=topics

[both]
name=both
language=en
backend=ensemble
vocab=topics
sources=tree:2,tfidf:1

[wrong]
name=wrong
language=en
backend=xtrellis
analyzer=simple
vocab=topics
preset=xr-linear
bem=4
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home(tmp_path_factory.mktemp("home"), CONFIG.format(excluded=NAMES["baking"]))
    made.run("load-vocab", "--language", "en", "topics", "vocab.tsv", program=PROGRAM)
    for project in ("tree", "plain", "without", "tfidf"):
        made.run("train", project, "train.tsv", program=PROGRAM)
    return made


def suggested(home: Home, project: str, text: str, *options: str) -> list[tuple[str, float]]:
    """URIs and scores."""
    told = home.run("suggest", *options, project, stdin=text, program=PROGRAM).splitlines()
    return [(line.split("\t")[0].strip("<>"), float(line.split("\t")[-1])) for line in told]


def test_it_answers_as_the_library_does(home: Home) -> None:
    """Without an analyzer nothing lies between: the same labels and scores as a tagger of ours on the same rows."""
    texts, labels = texts_and_labels(200, 1)
    named = [[NAMES[name] for name in row] for row in labels]
    alone = xt.Tagger(xt.Vectorizer(), xt.preset("neighbors")).fit(texts, named).tag(TEXT, k=5)
    found = suggested(home, "plain", TEXT, "--limit", "5")
    assert [uri for uri, _ in found] == [tag.label for tag in alone]
    assert [score for _, score in found] == pytest.approx([tag.score for tag in alone], abs=1e-3)


def test_the_order_of_equal_scores_is_kept(home: Home) -> None:
    script = (
        "import numpy as np; from xtrellis.annif.backend import in_order\n"
        "scores = np.array([[1, 1, 1, 0.5, 0.5, 0, 0], [0.9, 0.8, 0.8, 0.8, 0.1, 0.1, 0]], np.float32)\n"
        "made = in_order(scores)\n"
        "assert np.abs(made - scores).max() < 1e-6\n"
        "assert all((np.diff(row[row > 0]) < 0).all() for row in made)\n"
        "assert (made[0, 5:] == 0).all()\n"
    )
    home.run("-c", script, program="python")


def test_analyzers_make_the_words(home: Home) -> None:
    """Other forms of the words that were learned are the same words to a stemmer."""
    assert suggested(home, "tree", "KNEADING doughs, flours, yeasts and ovens")[0][0] == NAMES["baking"]


def test_eval_alone_in_several_processes_and_in_an_ensemble(home: Home) -> None:
    alone = home.f1("tree", program=PROGRAM)
    assert alone > 0.4
    assert home.f1("tree", "--jobs", "2", program=PROGRAM) == alone
    assert home.f1("both", program=PROGRAM) > 0.4
    assert "True" in home.run("show-project", "tree", program=PROGRAM)


def test_many_at_once_are_answered_as_each_alone(home: Home) -> None:
    texts, _ = texts_and_labels(5, 3)
    for i, text in enumerate(texts):
        (home.folder / f"{i}.txt").write_text(text)
    told = home.run("suggest", "tree", *(f"{i}.txt" for i in range(5)), program=PROGRAM)
    parts = re.split(r"Suggestions for .*\n", told)[1:]
    assert len(parts) == 5
    for text, part in zip(texts, parts, strict=True):
        assert part == home.run("suggest", "tree", stdin=text, program=PROGRAM)


def test_names_of_subjects_are_witnesses(home: Home) -> None:
    """A preset that goes by names finds a label that no training row has."""
    rows = [line for line in (home.folder / "train.tsv").read_text().splitlines() if NAMES["dance"] not in line]
    (home.folder / "without-dance.tsv").write_text("\n".join(rows) + "\n")
    home.run("train", "best", "without-dance.tsv", program=PROGRAM)
    assert home.f1("best", program=PROGRAM) > 0.4
    assert NAMES["dance"] in dict(suggested(home, "best", "a dance"))


def test_cached_rows_are_trained_on_again(home: Home) -> None:
    before = suggested(home, "tree", TEXT)
    home.run("train", "--cached", "tree", program=PROGRAM)
    assert suggested(home, "tree", TEXT) == before
    home.run("train", "--cached", "-b", "xtrellis.preset=neighbors", "tree", program=PROGRAM)
    model = json.loads((home.folder / "data/projects/tree/xtrellis-model/model.json").read_text())
    assert "Neighbors" in json.dumps(model)
    home.run("train", "--cached", "tree", program=PROGRAM)
    assert suggested(home, "tree", TEXT) == before
    refused = home.try_to("train", "--cached", "wrong", "-b", "xtrellis.bem=", program=PROGRAM)
    assert refused.returncode != 0


def test_excluded_subjects_are_never_suggested(home: Home) -> None:
    assert NAMES["baking"] not in dict(suggested(home, "without", TEXT))
    assert suggested(home, "without", TEXT)[0][0] == NAMES["cooking"]


def test_learning(home: Home) -> None:
    text = "zither quince zephyr"
    (home.folder / "more.tsv").write_text(f"{text} oven\t<{NAMES['music']}>\n" * 40)
    assert suggested(home, "plain", f"{text} oven", "--limit", "1")[0][0] != NAMES["music"]
    home.run("learn", "plain", "more.tsv", program=PROGRAM)
    assert suggested(home, "plain", f"{text} oven", "--limit", "1")[0][0] == NAMES["music"]
    refused = home.try_to("learn", "tree", "more.tsv", program=PROGRAM)
    assert (refused.returncode, "Learning not enabled" in refused.stderr) == (1, True)


def test_a_vocabulary_that_has_changed(home: Home) -> None:
    """Subjects are known by URI: another order changes nothing, and one that is gone is suggested no more."""
    before = suggested(home, "tree", TEXT, "--limit", "5")
    lines = (home.folder / "vocab.tsv").read_text().splitlines()
    kept = [line for line in reversed(lines) if NAMES["baking"] not in line]
    (home.folder / "other.tsv").write_text("\n".join(kept) + "\n")
    home.run("load-vocab", "--force", "--language", "en", "topics", "other.tsv", program=PROGRAM)
    assert suggested(home, "tree", TEXT, "--limit", "4") == [pair for pair in before if pair[0] != NAMES["baking"]]
    home.run("load-vocab", "--force", "--language", "en", "topics", "vocab.tsv", program=PROGRAM)
    assert suggested(home, "tree", TEXT, "--limit", "5") == before


REFUSED = {
    "train wrong train.tsv": "has no parameter 'bem'; did you mean 'beam'",
    "train tree train.tsv -b xtrellis.preset=besst": "there is no preset 'besst'",
    "train tree train.tsv -b xtrellis.limit=0": "limit must be an integer ≥ 1; got '0'",
    "train tree train.tsv -b xtrellis.ngram=x": "ngrams must be an integer",
    "train tree train.tsv -b xtrellis.vectorizer.ngrams=2": "it is called ngram here",
    "train tree train.tsv -b xtrellis.threads=2": "train --jobs 2",
    "train tree train.tsv -b xtrellis.preset=glas": "xtrellis[deep]",
    "train --cached best -b xtrellis.preset=names": "no training data is cached",
    "train tree empty.tsv": "training needs documents; got none",
    "suggest best": "Project is not trained",
}
ALL = """
import json, sys
from click.testing import CliRunner
from annif.cli import cli
from xtrellis.annif import register
register()
done = [CliRunner().invoke(cli, line.split(), input="a text") for line in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.output, isinstance(one.exception, SystemExit)) for one in done]))
"""


def test_what_is_refused(tmp_path: Path) -> None:
    """One sentence each, no trace of Python, and nothing half-written."""
    home = Home(tmp_path, CONFIG.format(excluded=NAMES["baking"]))
    (tmp_path / "empty.tsv").write_text("")
    home.run("load-vocab", "--language", "en", "topics", "vocab.tsv", program=PROGRAM)
    told = json.loads(home.run("-c", ALL, json.dumps(list(REFUSED)), program="python").splitlines()[-1])
    for (asked, says), (code, output, plainly) in zip(REFUSED.items(), told, strict=True):
        assert says in output, (asked, output)
        assert (code != 0, plainly) == (True, True), (asked, output)
    files = {file.name for file in (tmp_path / "data" / "projects").rglob("*") if file.is_file()}
    assert files <= {"xtrellis-train.jsonl"}


def test_another_analyzer_than_in_training_is_refused(home: Home) -> None:
    config = home.folder / "projects.cfg"
    kept = config.read_text()
    config.write_text(kept.replace("analyzer=snowball(english)", "analyzer=simple"))
    try:
        for args in (("suggest", "tree"), ("train", "--cached", "tree")):
            refused = home.try_to(*args, stdin=TEXT, program=PROGRAM)
            assert refused.returncode != 0
            assert "with analyzer=snowball(english), the project now has analyzer=simple" in refused.stderr
    finally:
        config.write_text(kept)
