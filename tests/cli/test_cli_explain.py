"""`xtrellis tag --explain` and `--label`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_world import Run

TEXT = "violin piano concert apple"


def test_explain_shows_words_for_each_label(run: Run, model: Path) -> None:
    code, out, err = run("tag", model, TEXT, "-k", "2", "--explain")
    assert (code, err) == (0, "")
    first, second = out.split("\n\n")
    assert "music  number 1 of 36 labels found" in first
    assert "violin +" in first
    assert "apple -" in first
    assert "bias -" in first
    assert "number 2 of 36" in second
    assert all(line == line.rstrip() for line in out.splitlines())


def test_explain_as_json_is_plain_data(run: Run, model: Path) -> None:
    code, out, err = run("tag", model, TEXT, "-k", "2", "--explain", "--json")
    assert (code, err) == (0, "")
    tags = json.loads(out)["tags"]
    for tag in tags:
        why = tag["explanation"]
        assert why["name"] == tag["label"]
        assert why["score"] == pytest.approx(tag["score"], rel=1e-5)
        for step in why["paths"][0]["steps"]:
            total = step["bias"] + sum(feature["contribution"] for feature in step["features"])
            assert total == pytest.approx(step["margin"], abs=1e-12)
    assert {word["text"] for word in tags[0]["explanation"]["words"]} == set(TEXT.split())


def test_any_label_can_be_asked_for(run: Run, model: Path) -> None:
    code, out, _ = run("tag", model, TEXT, "-k", "1", "--label", "weather", "--label", "fruit")
    assert code == 0
    weather, fruit = out.split("\n\n")
    assert "weather  number" in weather
    assert "fruit  number" in fruit
    assert "music" not in out
    assert any(line.split()[:1] == ["violin"] and "×" in line for line in weather.splitlines())
    code, out, _ = run("tag", model, TEXT, "-k", "1", "--label", "weather", "--json")
    found = json.loads(out)
    assert [tag["label"] for tag in found["tags"]] == ["music"]
    assert [asked["label"] for asked in found["asked"]] == ["weather"]
    assert found["asked"][0]["explanation"]["rank"] > 1


@pytest.mark.parametrize(
    ("preset", "settings"), [("softmax-tree", ["--set", "dim=16"]), ("glas", ["--set", "dim=16", "--set", "epochs=6"])]
)
def test_embeddings_explain_too(run: Run, train_file: Path, tmp_path: Path, preset: str, settings: list[str]) -> None:
    args = ["train", train_file, "--to", tmp_path / "m", "--preset", preset, *settings, "--holdout", "0", "-q"]
    assert run(*args).code == 0
    code, out, err = run("tag", tmp_path / "m", TEXT, "-k", "36", "--label", "music", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    (why,) = (asked["explanation"] for asked in found["asked"])
    by_label = {tag["label"]: tag["score"] for tag in found["tags"]}
    assert why["score"] == pytest.approx(by_label["music"], rel=1e-4)
    assert why["rank"] == 1 + list(by_label).index("music") <= 3
    words = {word["text"]: word["push"] for word in why["words"]}
    assert set(words) == set(TEXT.split())
    assert min(words["violin"], words["piano"], words["concert"]) > words["apple"]
    code, out, err = run("tag", tmp_path / "m", TEXT, "-k", "1", "--explain")
    assert (code, err) == (0, "")
    assert f"{found['tags'][0]['label']}  number 1 of 36 labels found" in out


def test_a_label_that_the_beam_lost(run: Run, train_file: Path, tmp_path: Path) -> None:
    settings = ["--set", "beam=1", "--set", "index.arity=4", "--set", "index.max_leaf=4", "--holdout", "0"]
    assert run("train", train_file, "--to", tmp_path / "m", *settings, "-q").code == 0
    code, out, _ = run("tag", tmp_path / "m", "rain snow", "--label", "ünïque/violin")
    assert code == 0
    assert "not found: its cluster came in as number" in out
    assert "beyond the beam" in out


def test_unknown_labels_get_the_nearest_name(run: Run, model: Path) -> None:
    assert run("tag", model, TEXT, "--label", "musik") == (
        2, "", "error: the model has no label 'musik'; did you mean 'music'?\n",
    )  # fmt: skip


def test_explain_each_line(run: Run, model: Path) -> None:
    code, out, _ = run("tag", model, "--lines", "--explain", "-k", "1", stdin="violin piano\n\nrain snow\n")
    assert code == 0
    assert out.count("labels found") == 2
    assert "(no labels: the text is empty)" in out
