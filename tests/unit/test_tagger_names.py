"""Label names given to a tagger follow the rules that those of a file do: no white space around them, none empty."""

from __future__ import annotations

from typing import Any

import pytest

import xtrellis as xt

TEXTS = ["red apple", "green pear", "fast car", "no label"]


def tagger() -> xt.Tagger:
    return xt.Tagger(xt.Vectorizer(), xt.LinearTree(threads=1))


def told_by(call: Any) -> list[str]:
    heard: list[xt.ProgressEvent] = []
    with xt.listen(heard.append):
        call()
    return [event.title for event in heard if event.kind == "note" and event.title.startswith("labels:")]


def test_white_space_around_names_is_no_part_of_them() -> None:
    made = tagger()
    told = told_by(lambda: made.fit(TEXTS, [["fruit ", "fruit"], [" fruit"], ["car"], None]))
    assert list(made.label_names) == ["car", "fruit"]
    assert made.label_counts is not None
    assert made.label_counts.tolist() == [1, 2]
    assert told == [
        "labels: 1 rows have null for labels and were read as having none; 2 label names have white space around them, "
        "which was taken off"
    ]
    assert told_by(lambda: tagger().fit(TEXTS, [["fruit"], ["fruit"], ["car"], []])) == []


@pytest.mark.parametrize("empty", ["", "  ", "\t\n"])
def test_empty_names_are_refused(empty: str) -> None:
    with pytest.raises(xt.InputError, match=r"labels\[1\] must hold names; got an empty one, '.*': leave it out"):
        tagger().fit(TEXTS, [["a"], ["b", empty], ["c"], []])


def test_names_from_a_file_and_from_python_are_the_same(tmp_path: Any) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "labels": [" x", "y"]}\n{"text": "b", "labels": ["x "]}\n')
    read = xt.read(path)
    prepared = tagger().prepare(["a", "b"], [[" x", "y"], ["x "]])
    assert list(read.label_names or []) == list(prepared.label_names or []) == ["x", "y"]
    assert (read.Y != prepared.Y).nnz == 0
