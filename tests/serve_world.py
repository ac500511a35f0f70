"""Servers for tests: the program itself, in a process of its own, and a small model for it to serve."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import xtrellis as xt

HOSTILE = "<script>alert(1)</script>"
TURNED = "left\u202eright"
TOPICS = {
    "cooking": "oven bread flour salt pasta boil",
    "baking": "oven dough flour yeast crust knead",
    "gardening": "soil seed rake tulip water spade",
    "botany (science)": "tulip species leaf root petal stem",
    "astronomy": "star planet orbit telescope comet moon",
    "Café culture": "coffee espresso barista cup foam milk",
    HOSTILE: "browser page element attack payload alert",
    TURNED: "mirror reverse backwards letters order script",
    "history": "king war treaty empire crown battle",
    "law": "court treaty judge statute appeal crown",
    "music": "violin note chord melody rhythm tempo",
    "dance": "rhythm step tempo ballet waltz stage",
}


def texts_and_labels(n: int, seed: int) -> tuple[list[str], list[list[str]]]:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = rng.choice(list(TOPICS), size=int(rng.integers(1, 3)), replace=False).tolist()
        words = [w for topic in chosen for w in rng.choice(TOPICS[topic].split(), 4).tolist()]
        words += rng.choice(["the", "of", "a", "very", "some", "and", "thing", "also"], 5).tolist()
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(chosen)
    return texts, labels


def trained(preset: str = "xr-linear", *, seed: int = 0, **params: Any) -> xt.Tagger:
    model = xt.Neighbors(keep_texts=60) if preset == "neighbors" else xt.preset(preset, **params)
    tagger = xt.Tagger(xt.Vectorizer(ngrams=2), model).fit(*texts_and_labels(400, seed))
    unseen = xt.Tagger(xt.Vectorizer(ngrams=2), xt.preset("xr-linear")).prepare(*texts_and_labels(120, 99))
    rows = xt.Dataset(None, unseen.Y, texts=list(unseen.texts or []), label_names=unseen.label_names)
    if not tagger.model.answers_probabilities:
        tagger.calibrate(rows)
    measured = tagger.reliability(rows)
    tagger.about = {
        "preset": preset,
        "date": "2024-01-01T00:00:00Z",
        "held_out": {"rows": 120, "metrics": dict(tagger.evaluate(rows, ["P@1", "R@10"]))},
        "notes": {"language": "en", "name": "Topics"},
        **({} if measured is None else {"reliability": measured.to_dict()}),
    }
    return tagger


class Answered(NamedTuple):
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.raw.splitlines()]


class Server:
    """`xtrellis serve …`, on a port of its own."""

    def __init__(self, *args: object, env: dict[str, str] | None = None, port: int = 0) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by stop
        command = [sys.executable, "-m", "xtrellis", "serve", *map(str, args), "--port", str(port)]
        given = {**os.environ, "PYTHONWARNINGS": "ignore", **(env or {})}
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log, env=given)
        deadline = time.monotonic() + 120
        while not (found := re.search(r"page: http://127\.0\.0\.1:(\d+)/", self.said())):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self._failed()
            time.sleep(0.05)
        self.port = int(found[1])
        self.url = f"http://127.0.0.1:{self.port}"
        while True:
            try:
                self.get("/health")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self._failed()
                time.sleep(0.05)

    def _failed(self) -> None:
        said = self.said()
        self.stop()
        raise RuntimeError(f"the server did not start: {said}")

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, **more: Any
    ) -> Answered:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {}, **more)
            answer = connection.getresponse()
            return Answered(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answered:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: Any, **headers: str) -> Answered:
        return self.ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})

    def tag(self, text: str, **more: Any) -> Any:
        answer = self.post("/tag", {"text": text, **more})
        assert answer.status == 200, answer.raw
        return answer.json["tags"]

    def metric(self, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.get("/metrics").raw.decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self.log.close()
        return code


def replace_model(tagger: xt.Tagger, path: Path) -> None:
    tagger.save(path)
