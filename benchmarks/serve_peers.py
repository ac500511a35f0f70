"""Servers that `serve.py --peers` asks in the same run: Annif's own with omikuji, and a plain FastAPI around PECOS.

Both are trained here on the demo's texts, as ours was, listen on the loopback, and have one process, like ours. They
need `make bench-peers` and `make annif-env` with omikuji in it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import urlencode

import xtrellis as xt

HERE = Path(__file__).parent
PEERS, ANNIF = (HERE.parent / name / "bin" for name in (".venv-peers", ".venv-annif"))
CONFIG = """
[pydocs]
name=pydocs
language=en
backend=omikuji
analyzer=simple
vocab=pydocs
ngram=2
limit=5
cluster_balanced=False
cluster_k=100
max_depth=3
"""


class Peer:
    """A process that answers, and what it has used."""

    def __init__(
        self, name: str, command: list[object], folder: Path, port: int, path: str, kind: str, env=None
    ) -> None:
        self.name, self.port, self.path, self.kind = name, port, path, kind
        self.process = subprocess.Popen(list(map(str, command)), cwd=folder, env=env, stdout=subprocess.DEVNULL,
                                        stderr=(folder / f"{name.split()[0]}.log").open("w"))  # fmt: skip
        until = time.monotonic() + 600
        while True:
            try:
                http.client.HTTPConnection("127.0.0.1", port, timeout=10).request("GET", "/")
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise SystemExit(f"{name} did not start: {folder}") from None
                time.sleep(0.3)

    def processor(self) -> float:
        told = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def rows_of_demo() -> list[tuple[str, list[str]]]:
    train = xt.datasets.load("pydocs").train
    names, Y = [str(name) for name in train.label_names], train.Y
    return [(text, [names[j] for j in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]]) for i, text in enumerate(train.texts)]


def pecos(folder: Path) -> Peer:
    folder.mkdir(exist_ok=True, parents=True)
    path, port = folder / "train.jsonl", free_port()
    path.write_text("".join(json.dumps({"text": t, "labels": labels}) + "\n" for t, labels in rows_of_demo()))
    command = [PEERS / "python", HERE / "engines" / "serve_pecos.py", path, port]
    return Peer("FastAPI and PECOS", command, folder, port, "/tag", "application/json")


def annif(folder: Path) -> Peer:
    folder.mkdir(exist_ok=True, parents=True)
    port, env = free_port(), {**os.environ, "NLTK_DATA": str(folder / "nltk_data")}
    if not (folder / "data" / "projects" / "pydocs" / "omikuji-model").exists():
        train_annif(folder, env)
    command = [ANNIF / "uvicorn", "annif:create_app", "--factory", "--host", "127.0.0.1", "--port", port,
               "--log-level", "error", "--no-access-log"]  # fmt: skip
    form = "application/x-www-form-urlencoded"
    return Peer("Annif and omikuji", command, folder, port, "/v1/projects/pydocs/suggest", form, env)


def train_annif(folder: Path, env: dict[str, str]) -> None:
    rows = rows_of_demo()
    uris = {name: f"http://example.org/{i}" for i, name in enumerate(sorted({n for _, ns in rows for n in ns}))}
    (folder / "vocab.tsv").write_text("".join(f"<{uri}>\t{name}\n" for name, uri in uris.items()))
    lines = (f"{' '.join(text.split())}\t{' '.join(f'<{uris[n]}>' for n in ns)}\n" for text, ns in rows)
    (folder / "train.tsv").write_text("".join(lines))
    (folder / "projects.cfg").write_text(CONFIG)
    punkt = folder / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    punkt.mkdir(parents=True)
    for name in ("abbrev_types.txt", "collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (punkt / name).write_text("")
    for args in (["load-vocab", "--language", "en", "pydocs", "vocab.tsv"], ["train", "pydocs", "train.tsv"]):
        subprocess.run([ANNIF / "annif", *args], cwd=folder, env=env, check=True, capture_output=True)


def body_for(peer: Peer, body: str) -> str:
    """What is asked of ours, as the peer wants it."""
    asked = json.loads(body)
    return body if peer.kind.endswith("json") else urlencode({"text": asked["text"], "limit": asked["k"]})
