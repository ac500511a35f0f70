"""`train --vocabulary`, what the other commands then say, and `xtrellis vocabulary`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import xtrellis as xt
from xtrellis.cli import run

TTL = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://e.org/> .
e:p1 a skos:Concept ; skos:prefLabel "animals"@en, "eläimet"@fi .
e:p2 a skos:Concept ; skos:prefLabel "birds"@en, "linnut"@fi ; skos:altLabel "fowl"@en ; skos:broader e:p1 .
e:p3 a skos:Concept ; skos:prefLabel "owls"@en, "pöllöt"@fi ; skos:broader e:p2 .
e:p4 a skos:Concept ; skos:prefLabel "stones"@en, "kivet"@fi .
"""
ROWS = [
    ("a bird in the bath", ["birds"]), ("an owl at night", ["http://e.org/p3"]),
    ("an old stone", ["STONES", "nonsense"]), ("the owl is a bird", ["pöllöt", "fowl"]), ("a brid flies", ["brids"]),
] * 12  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    (folder / "v.ttl").write_text(TTL, encoding="utf-8")
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in ROWS]
    (folder / "d.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = (
        f"train {folder}/d.jsonl --to {folder}/m --vocabulary {folder}/v.ttl --language en --unknown {folder}/u.tsv"
    )
    assert run([*command.split(), "--set", "index=GivenTree"]) == 0
    return folder


def out(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> str:
    assert run([str(word) for word in words]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.out + captured.err


def test_unknown_labels_are_listed(world: Path):
    assert (world / "u.tsv").read_text().splitlines() == [
        "label\trows\treason\tnearest_id\tnearest_name",
        "brids\t12\tnot in the vocabulary\thttp://e.org/p2\tbirds",
        "nonsense\t12\tnot in the vocabulary\t\t",
    ]


def test_what_train_says(world: Path, capsys: pytest.CaptureFixture[str]):
    command = ["train", world / "d.jsonl", "--to", world / "n", "--vocabulary", world / "v.ttl"]
    assert run([str(word) for word in command]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Vocabulary(4 labels, 9 names, languages: en, fi)" in said
    assert "names are shown in 'en', which most labels have (--language chooses)" in said
    assert "2 are not known ('brids', 'nonsense'), 24 times; 12 rows are left without a label" in said
    assert "--unknown FILE lists them" in said


def test_answers_have_ids_and_names(world: Path, capsys: pytest.CaptureFixture[str]):
    assert "owls (http://e.org/p3)" in out(capsys, "tag", world / "m", "an owl at night", "-k", "1")
    found = json.loads(out(capsys, "tag", world / "m", "an owl", "-k", "1", "--json"))
    assert found["tags"][0].items() >= {"id": "http://e.org/p3", "label": "owls"}.items()
    rows = [json.loads(line) for line in out(capsys, "predict", world / "m", world / "d.jsonl", "-q").splitlines()]
    assert len(rows) == 60
    assert rows[1]["ids"][0] == "http://e.org/p3"
    assert rows[1]["labels"][0] == "owls"
    assert len(rows[1]["ids"]) == len(rows[1]["labels"]) == len(rows[1]["scores"])


def test_many_rows_are_written_alike(world: Path, capsys: pytest.CaptureFixture[str]):
    """A kernel writes the lines of many rows."""
    few = out(capsys, "predict", world / "m", world / "d.jsonl", "-q").splitlines()
    (world / "many.jsonl").write_text((world / "d.jsonl").read_text() * 10)
    assert out(capsys, "predict", world / "m", world / "many.jsonl", "-q").splitlines() == few * 10
    (world / "t.txt").write_text("\n".join(text for text, _ in ROWS * 6))
    lines = out(capsys, "tag", world / "m", world / "t.txt", "--lines", "--json", "-q").splitlines()
    assert len(lines) == 360
    assert json.loads(lines[0])["tags"][0].keys() >= {"id", "label", "score"}
    assert lines[:60] == lines[60:120]


def test_predictions_are_judged_by_ids(world: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["predict", str(world / "m"), str(world / "d.jsonl"), "--to", str(world / "p.jsonl"), "-q"]) == 0
    capsys.readouterr()
    judged = json.loads(
        out(capsys, "evaluate", world / "m", world / "d.jsonl", "--predictions", world / "p.jsonl", "--json", "-q")
    )
    direct = json.loads(out(capsys, "evaluate", world / "m", world / "d.jsonl", "--json", "-q"))
    assert judged["metrics"]["P@1"] == direct["metrics"]["P@1"] > 50


@pytest.mark.parametrize("asked", ["owls", "http://e.org/p3", "pöllöt", "owl", "p3"])
def test_a_label_by_id_name_or_part(world: Path, capsys: pytest.CaptureFixture[str], asked: str):
    said = out(capsys, "tag", world / "m", "an owl at night", "--label", asked)
    assert "owls (http://e.org/p3)" in said
    assert "birds: " in said  # the group that it lies in
    found = json.loads(out(capsys, "tag", world / "m", "an owl at night", "--label", asked, "--json"))
    assert found["asked"][0]["id"] == "http://e.org/p3"
    assert found["asked"][0]["explanation"]["id"] == "http://e.org/p3"


def test_a_label_that_is_not_there(world: Path, capsys: pytest.CaptureFixture[str]):
    said = out(capsys, "tag", world / "m", "x", "--label", "brids", code=2)
    assert "error: the model has no label 'brids'; did you mean 'birds' (http://e.org/p2)?" in said
    assert "Traceback" not in said


def test_show(world: Path, capsys: pytest.CaptureFixture[str]):
    told = out(capsys, "vocabulary", "show", world / "v.ttl", "-q")
    assert "labels  4" in told
    assert "languages  en, fi" in told
    assert json.loads(out(capsys, "vocabulary", "show", world / "m", "--json"))["labels"] == 4
    told = out(capsys, "vocabulary", "show", world / "m", "fowl", "--language", "fi")
    assert told.startswith("linnut (http://e.org/p2)\n")
    assert "broader  eläimet (http://e.org/p1)" in told
    assert "narrower pöllöt (http://e.org/p3)" in told
    (found,) = json.loads(out(capsys, "vocabulary", "show", world / "m", "fowl", "--json"))
    assert found["alternative"] == {"en": ["fowl"]}
    assert "did you mean 'stones'" in out(capsys, "vocabulary", "show", world / "v.ttl", "stonez", "-q", code=2)
    assert "there are no names in 'sv'" in out(capsys, "vocabulary", "show", world / "m", "--language", "sv", code=2)
    assert run(["vocabulary", "show", str(world / "m"), "--to", str(world / "w.jsonl"), "-q"]) == 0
    capsys.readouterr()
    assert out(capsys, "vocabulary", "diff", world / "w.jsonl", world / "v.ttl", "-q") == "no difference\n"


def test_diff(world: Path, capsys: pytest.CaptureFixture[str]):
    changed = TTL.replace('"stones"@en', '"rocks"@en').replace("e:p3 a", "e:p33 a")
    (world / "new.ttl").write_text(changed, encoding="utf-8")
    told = out(capsys, "vocabulary", "diff", world / "v.ttl", world / "new.ttl", "-q").splitlines()
    assert told == [
        "added: 1, removed: 1, names: 1",
        "+ owls (http://e.org/p33)",
        "- owls (http://e.org/p3)",
        "~ rocks (http://e.org/p4)",
        "    names: en: stones; fi: kivet → en: rocks; fi: kivet",
    ]
    found = json.loads(out(capsys, "vocabulary", "diff", world / "v.ttl", world / "new.ttl", "-q", "--json"))
    assert found["added"] == ["http://e.org/p33"]


def test_a_newer_vocabulary_is_taken_over(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model, newer = world / "m", tmp_path / "newer.jsonl"
    known = xt.load(model)
    first, second = list(known.label_ids)[:2]
    labels = [label.to_dict() for label in known.vocabulary]
    for label in labels:
        if label["id"] == first:
            label["state"] = "retired"
        if label["id"] == second:
            label["names"] = {"en": "called anew"}
    newer.write_text("".join(json.dumps(label) + "\n" for label in labels))
    assert run(["vocabulary", "diff", str(model), str(newer), "-q"]) == 0
    told = capsys.readouterr().out
    assert "does this to its labels: 1 retired" in told
    assert f"x {first}: retired" in told
    assert run(["vocabulary", "diff", str(model), str(newer), "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["retired"] == [first]
    to = tmp_path / "m"
    assert run(["update", str(model), "--vocabulary", str(newer), "--to", str(to), "-q"]) == 0
    assert "took over a newer vocabulary" in capsys.readouterr().out
    live = xt.load(to)
    assert live.retired == [first]
    assert live.label_names[live.find_label(second)] == "called anew"


def test_check(world: Path, capsys: pytest.CaptureFixture[str]):
    assert out(capsys, "vocabulary", "check", world / "v.ttl") == "nothing is wrong\n"
    bad = TTL + 'e:p1 skos:broader e:p3 ; skos:prefLabel "beasts"@en .\n'
    (world / "bad.ttl").write_text(bad, encoding="utf-8")
    said = out(capsys, "vocabulary", "check", world / "bad.ttl", code=2)
    assert "ring (1):" in said
    assert "two preferred names in language 'en', 'animals' and 'beasts'" in said
    assert json.loads(out(capsys, "vocabulary", "check", world / "v.ttl", "--json"))["faults"] == []


def test_what_is_refused(world: Path, capsys: pytest.CaptureFixture[str]):
    (world / "broken.ttl").write_text(TTL + "e:p5 skos:prefLabel", encoding="utf-8")
    data = [world / "d.jsonl", "--to", world / "x"]
    assert "broken.ttl, line 7: is not Turtle" in out(
        capsys, "train", *data, "--vocabulary", world / "broken.ttl", "-q", code=2
    )
    assert "no names in language 'sv'; its languages: en, fi" in out(
        capsys, "train", *data, "--vocabulary", world / "v.ttl", "--language", "sv", "-q", code=2
    )
    assert "--language goes with --vocabulary" in out(capsys, "train", *data, "--language", "en", code=2)
    assert "there is no folder" in out(
        capsys, "train", *data, "--vocabulary", world / "v.ttl", "--unknown", world / "no" / "u.tsv", code=2
    )
    assert not (world / "x").exists()
    assert run(["train", *map(str, [world / "d.jsonl", "--to", world / "plain"]), "-q"]) == 0
    capsys.readouterr()
    assert "is a model without a vocabulary" in out(capsys, "vocabulary", "show", world / "plain", code=2)
