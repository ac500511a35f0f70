"""Answers restricted to some labels: by name, by id, prepared once."""

from __future__ import annotations

import numpy as np
import pytest

import xtrellis as xt

TEXTS = ["red apple", "green pear", "blue sky", "red sky", "green sky"] * 4
LABELS = [["fruit", "red"], ["fruit", "green"], ["sky"], ["sky", "red"], ["sky", "green"]] * 4


@pytest.fixture(scope="module", params=["xr-linear", "one-vs-all", "softmax-tree", "parabel"])
def tagger(request: pytest.FixtureRequest) -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(), xt.preset(request.param, threads=1)).fit(TEXTS, LABELS)


def test_a_tagger_takes_names(tagger: xt.Tagger) -> None:
    wanted = ["red", "green"]
    found = tagger.tag("red sky", k=4, labels=wanted)
    assert found[0].label == "red"
    assert {tag.label for tag in found} <= set(wanted)
    everything = {tag.label: tag.score for tag in tagger.tag("red sky", k=4)}
    assert found[0].score == everything["red"]
    assert [[tag.label for tag in tags] for tags in tagger.tag_many(["red sky", "pear"], 1, labels=wanted)] == [
        ["red"],
        ["green"],
    ]


def test_a_prepared_set_answers_the_same(tagger: xt.Tagger) -> None:
    names = ["red", "sky", "red"]
    prepared = tagger.prepare_labels(names)
    assert isinstance(prepared, xt.LabelSet)
    assert len(prepared) == 2
    texts = ["red sky", "green pear", "zzz"]
    for first, second in (
        (tagger.predict(texts, 2, labels=names), tagger.predict(texts, 2, labels=prepared)),
        (tagger.predict(texts[:1], 2, labels=prepared.ids), tagger.predict(texts[:1], 2, labels=prepared)),
    ):
        np.testing.assert_array_equal(first.labels, second.labels)
        np.testing.assert_array_equal(first.scores, second.scores)
    X = tagger.vectorizer.transform(texts[:2])
    top = tagger.model.predict(X, 2, labels=xt.LabelSet(prepared.ids, tagger.n_labels))
    np.testing.assert_array_equal(top.labels, tagger.model.predict(X, 2, labels=list(prepared.ids)).labels)


def test_the_work_is_done_once(tagger: xt.Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = tagger.prepare_labels(["red", "sky"])
    tagger.tag("red", labels=prepared)
    made = []
    monkeypatch.setattr("xtrellis.linear.search.ranges", lambda *args: made.append(args))
    for _ in range(3):
        assert len(tagger.tag("red", labels=prepared)) == 2
    assert made == []


def test_mistakes(tagger: xt.Tagger) -> None:
    for labels, says in ((["rde"], "no label 'rde'; did you mean 'red'"), ("red", "a list of names"), ([], "at least")):
        with pytest.raises(xt.InputError, match=says):
            tagger.tag("red", labels=labels)
    with pytest.raises(xt.InputError, match="LabelSet is of a model with 9 labels"):
        tagger.tag("red", labels=xt.LabelSet([1], 9))
    with pytest.raises(xt.InputError, match="ids from 0 to"):
        xt.LabelSet([7], 4)


def test_a_model_that_cannot_says_so() -> None:
    tagger = xt.Tagger(xt.Vectorizer(), xt.preset("xr-linear++", threads=1)).fit(TEXTS, LABELS)
    with pytest.raises(xt.InputError, match="Reranked cannot restrict its answers"):
        tagger.tag("red", labels=["sky"])
