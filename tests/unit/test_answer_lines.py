"""Lines that the kernel makes of many answers are those that Python makes of each."""

from __future__ import annotations

import json
from json.encoder import encode_basestring

import numpy as np
import pytest

from xtrellis.arrays import StringTable, TopK
from xtrellis.data import AnswerLines
from xtrellis.data.streams import answers

NAMES = ["plain", 'quoted "name"', "naïve ✓ 名前", "line\nbreak", "", "\ud800 half a pair"]


def random_top(rows: int, k: int, seed: int) -> TopK:
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, len(NAMES), (rows, k)).astype(np.int32)
    scores = (10.0 ** rng.uniform(-45, 3, (rows, k))).astype(np.float32)
    scores[0, :3] = 0, 1, 0.1
    scores[1, :3] = np.inf, -np.inf, -0.0
    labels[2] = -1
    return TopK(labels, scores, len(NAMES))


def formatted(lines: AnswerLines, *given: object, **more: object) -> str:
    return lines.format(*given, **more).decode("utf-8", "surrogatepass")


def twin(shape: str, top: TopK, before: list[str], after: list[str]) -> str:
    out = []
    for row, (labels, scores) in enumerate(zip(top.labels.tolist(), top.scores.tolist(), strict=True)):
        found = [(label, f"{score:.9g}") for label, score in zip(labels, scores, strict=True) if label >= 0]
        if shape == "pairs":
            out.append(" ".join(f"{label}:{score}" for label, score in found) + "\n")
            continue
        names = [encode_basestring(NAMES[label]) for label, _ in found]
        if shape == "lists":
            inside = f'"labels": [{", ".join(names)}], "scores": [{", ".join(score for _, score in found)}]'
        else:
            tags = [f'{{"label": {name}, "score": {score}}}' for name, (_, score) in zip(names, found, strict=True)]
            inside = f'"tags": [{", ".join(tags)}]'
        out.append("{" + before[row] + inside + after[row] + "}\n")
    return "".join(out)


@pytest.mark.parametrize("shape", ["lists", "tags", "pairs"])
@pytest.mark.parametrize("most_names", [200_000, 2])
def test_lines_of_many_answers(shape: str, most_names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_NAMES", most_names)
    lines = AnswerLines(StringTable.of(NAMES), encode_basestring)
    for seed, k in enumerate([3, 7]):
        top = random_top(200, k, seed)
        before = [f'"id": {i}, ' if i % 3 else "" for i in range(200)]
        after = [', "reason": "ä"' if i % 5 == 0 else "" for i in range(200)]
        assert formatted(lines, shape, top, before, after) == twin(shape, top, before, after)
        assert formatted(lines, shape, top) == twin(shape, top, [""] * 200, [""] * 200)


def test_scores_can_be_read_back() -> None:
    scores = np.random.default_rng(3).integers(0, 0x7F7FFFFF, 5000).astype(np.uint32).view(np.float32)[:, None]
    top = TopK(np.zeros_like(scores, np.int32), scores, 1)
    lines = AnswerLines(StringTable.of(["a"]), encode_basestring).format("lists", top).splitlines()
    assert [np.float32(json.loads(line)["scores"][0]) for line in lines] == scores[:, 0].tolist()


def test_no_rows_and_no_answers() -> None:
    lines = AnswerLines(StringTable.of(NAMES), encode_basestring)
    assert formatted(lines, "lists", TopK(np.empty((0, 3), np.int32), np.empty((0, 3), np.float32), 6)) == ""
    nothing = TopK(np.full((2, 3), -1, np.int32), np.zeros((2, 3), np.float32), 6)
    assert formatted(lines, "lists", nothing) == '{"labels": [], "scores": []}\n' * 2
    assert formatted(lines, "pairs", nothing) == "\n\n"


@pytest.mark.parametrize("most_names", [200_000, 2])
def test_served_answers_are_what_an_encoder_writes(most_names: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers to the last bit, as doubles: an answer is the same whichever way it was asked for."""
    monkeypatch.setattr(answers, "MOST_NAMES", most_names)
    names = [f'"id":"v:{i}","label":{json.dumps(name)}' for i, name in enumerate(NAMES)]
    lines, top = AnswerLines(names, str), random_top(100, 4, 5)
    scores = np.where(np.isfinite(top.scores), top.scores, np.float32(0.25))
    top, chances = TopK(top.labels, scores, len(NAMES)), TopK(top.labels, scores[::-1] / 3, len(NAMES))
    for known in (None, chances):
        made = lines.format("served", top, [f'"id":{i},' for i in range(100)], [""] * 100, chances=known)
        for row, line in enumerate(made.decode().splitlines()):
            tags = [
                {
                    "id": f"v:{label}",
                    "label": NAMES[label],
                    "score": float(top.scores[row, i]),
                    "probability": None if known is None else float(known.scores[row, i]),
                }
                for i, label in enumerate(top.labels[row].tolist())
                if label >= 0
            ]
            assert json.loads(line) == {"id": row, "tags": tags}
