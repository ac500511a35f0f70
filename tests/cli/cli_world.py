"""A small world for the command line: texts of four topics, and what running a command gives."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

TOPICS = {
    "fruit": "apple pear banana juice sweet ripe orchard harvest",
    "traffic": "car bus road wheel engine driver lane signal",
    "music": "violin piano concert melody rhythm singer chorus tempo",
    "weather": "rain cloud wind storm sunny cold snow forecast",
}


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Texts of words from one topic, labelled with it and with their first word."""
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        topic = rng.choice(sorted(TOPICS))
        words = [rng.choice(TOPICS[topic].split()) for _ in range(8)]
        out.append({"text": " ".join(words), "labels": [topic, f"ünïque/{words[0]}"]})
    return out


def write_jsonl(path: Path, n: int, seed: int) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows(n, seed)), encoding="utf-8")
    return path
