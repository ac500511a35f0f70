"""What is a word is told on the command line like any parameter, and a saved model keeps it."""

from __future__ import annotations

import json
from pathlib import Path

from cli_world import Run, write_jsonl

import xtrellis as xt


def test_words_stems_and_stop_words(run: Run, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 80, 1)
    (tmp_path / "mine.txt").write_text("apple\nRain\n", encoding="utf-8")
    told = ["--set", "vectorizer.stem=english", "--set", f"vectorizer.stop_words={tmp_path / 'mine.txt'}"]
    code, _, err = run("train", data, "--to", tmp_path / "m", "-q", *told, "--set", "vectorizer.words=runs")
    assert code == 0, err
    vectorizer = xt.load(tmp_path / "m").vectorizer
    assert vectorizer == xt.Vectorizer(stem="english", stop_words=["apple", "Rain"], words="runs")
    names = set(vectorizer.feature_names)
    assert {"melodi", "orchard"} <= names
    assert not {"melody", "apple", "rain"} & names
    code, out, err = run("tag", tmp_path / "m", "two melodies", "--json", "-k", "1")
    assert code == 0, err
    assert json.loads(out)["tags"][0]["label"] in ("music", "ünïque/melody")


def test_unknown_languages_are_refused_at_once(run: Run, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "d.jsonl", 20, 1)
    for told, hint in (("stem=finish", "did you mean 'finnish'"), ("stop_words=englsh", "did you mean 'english'")):
        code, _, err = run("train", data, "--to", tmp_path / "m", "-q", "--set", f"vectorizer.{told}")
        assert code == 2
        assert hint in err
    assert not (tmp_path / "m").exists()


def test_a_language_without_spaces(run: Run, tmp_path: Path) -> None:
    rows = [("我喜欢吃苹果", "水果"), ("苹果汁很甜", "水果"), ("新汽车在路上跑", "交通"), ("汽车的发动机", "交通")] * 10
    content = "".join(json.dumps({"text": text, "labels": [label]}) + "\n" for text, label in rows)
    (tmp_path / "d.jsonl").write_text(content, encoding="utf-8")
    assert run("train", tmp_path / "d.jsonl", "--to", tmp_path / "m", "-q").code == 0
    code, out, err = run("tag", tmp_path / "m", "她买了苹果", "--json", "-k", "1")
    assert code == 0, err
    assert json.loads(out)["tags"][0]["label"] == "水果"
