"""What a server is told when it starts: which models, what it allows, and whom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..core import ParameterError, shown

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Limits:
    """What a request may ask for; more is refused with a 4xx that says so."""

    body: int = 16 << 20  # bytes of a request
    text: int = 5_000_000  # characters of one text
    texts: int = 10_000  # of one request
    k: int = 1000  # answers of one text
    explained: int = 200_000  # characters of a text that is explained
    concurrent: int = 512  # requests at a time, in each worker
    held: int = 256 << 20  # bytes of requests at a time, in each worker
    seconds: float = 30.0  # that a client may take to send a request, or to take a part of an answer


@dataclass(frozen=True)
class Settings:
    """A server. Models are pairs of an id, by which requests name them, and the folder they lie in."""

    models: tuple[tuple[str, str], ...]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    token: str | None = None  # needed for reading, if given
    learn_token: str | None = None  # needed for feedback and learning, if given; it may read as well
    feedback: str | None = None  # folder that decisions are kept in; None: they are refused
    learn: bool = False  # decisions also change the model
    hosts: tuple[str, ...] = ()  # names by which browsers may ask for this server, beside those of the loopback
    origins: tuple[str, ...] = ()  # other sites whose pages may ask
    access_log: str | None = None  # a file, "-" for stdout, None for none
    log_texts: bool = False  # the access log has texts, too
    threads: int | None = None
    reload_every: float = 1.0  # seconds between looks at the models' folders
    language: str = "en"  # of label names, where a model does not say it
    counters: str | None = None  # file of counters that workers share

    @property
    def only_loopback(self) -> bool:
        """True if nobody else can reach the server, except by a page that their browser is tricked into."""
        return self.host in LOOPBACK


def name_models(given: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Ids of model folders: `ID=FOLDER` as it is said, else the folder's name with what no address has left out."""
    if not given:
        raise ParameterError("there must be a model to serve: xtrellis serve MODEL")
    named: dict[str, str] = {}
    for word in given:
        name, equals, path = word.partition("=")
        if not equals or "/" in name:
            path = word
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(word).resolve().name).strip("-._")[:100] or "model"
        elif not _ID.fullmatch(name):
            raise ParameterError(f"a model's id must be letters, digits, dots and dashes; got {shown(name)}")
        if name in named:
            raise ParameterError(f"two models are called {name!r}; name one of them: OTHER={path}")
        named[name] = path
    return tuple(named.items())
