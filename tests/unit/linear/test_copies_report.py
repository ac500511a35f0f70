"""Which meaning each place of a label serves."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import xtrellis as xt
from xtrellis import cli
from xtrellis.experiments import copies_report


@pytest.fixture(scope="module")
def world():
    """24 labels about 24 words, in groups of 6 that share a topic; fused two by two across topics."""
    dice = np.random.default_rng(0)
    texts, lists = [], []
    for row in range(600):
        label = row % 24
        noise = dice.integers(0, 30, 2)
        texts.append(f"word{label} topic{label // 6} topic{label // 6} noise{noise[0]} <b>noise{noise[1]}</b>")
        lists.append([f"label{label}"])
    Y = sp.csr_array((np.ones(600), (np.arange(600), np.arange(600) % 24)), shape=(600, 24))
    names = [f"label{i}" for i in range(24)]
    original = xt.Dataset(None, Y, texts=texts, label_names=names)
    where = np.arange(24) % 12  # i and i + 12 become one
    fused = xt.fuse(original, where)
    X = xt.Vectorizer().fit(texts).transform(texts)
    model = xt.LinearTree(index=xt.BalancedTree(arity=2, max_leaf=3), overlap=xt.Overlap(beam=2), beam=2, seed=3).fit(
        X, fused.Y
    )
    return original, fused, where, X, model


def test_places_serve_different_meanings(world):
    original, fused, where, X, model = world
    report = copies_report(model, fused, X=X, original=original, fused=where, most=12)
    assert len(report.copies) >= 4
    for copies in report.copies:
        assert sum(place.rows for place in copies.places) == copies.rows == 50
        assert set(copies.name.split(" + ")) >= set().union(*(place.meanings for place in copies.places))
    assert np.mean([copies.purity for copies in report.copies]) > 0.8
    page = report.to_html()
    assert "&lt;b&gt;" in page
    assert "<b>noise" not in page
    assert report.copies[0].name in page
    assert json.loads(json.dumps(report.to_dict()))["labels"][0]["rows"] == 50


def test_what_it_refuses(world):
    original, fused, _, X, model = world
    with pytest.raises(ValueError, match="belong together"):
        copies_report(model, fused, X=X, original=original)
    with pytest.raises(ValueError, match="labels must be from 0 to 11"):
        copies_report(model, fused, X=X, labels=[12])


def test_the_command_shows_it_and_writes_a_page(world, tmp_path, capsys):
    _, fused, _, _, model = world
    tagger = xt.Tagger(xt.Vectorizer(), model.clone()).fit(fused)
    tagger.save(tmp_path / "model")
    xt.write(fused, tmp_path / "data.jsonl")
    at = str(tmp_path / "model")
    assert cli.run(["inspect", at, "--copies", str(tmp_path / "data.jsonl"), "--html", str(tmp_path / "p.html")]) == 0
    assert "2 places" in capsys.readouterr().out
    assert "<h2>" in (tmp_path / "p.html").read_text()
    assert cli.run(["inspect", at, "--json"]) == 0
    assert "covered_after" in capsys.readouterr().out
    assert cli.run(["inspect", at, "--html", str(tmp_path / "q.html")]) != 0
