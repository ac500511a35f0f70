"""Who may ask, and what is noted of it: bearer tokens, names of the host, and the access log."""

from __future__ import annotations

import hmac
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from .messages import Request
from .problems import Problem
from .settings import LOOPBACK, Settings

KEPT = 64 << 10  # bytes of log lines that wait to be written
OPEN, READ, LEARN = range(3)


class Door:
    """Lets requests in."""

    def __init__(self, settings: Settings) -> None:
        token, learn = settings.token, settings.learn_token
        self._read = [one.encode() for one in (token, learn) if one] if token else []
        self._learn = [one.encode() for one in ((learn,) if learn else (token,)) if one]
        names = {*LOOPBACK, "[::1]", settings.host, *settings.hosts}
        self._hosts = {name.lower() for name in names} if settings.only_loopback or settings.hosts else None
        self._origins = set(settings.origins)

    def check(self, request: Request, needed: int) -> None:
        """Refuse who may not."""
        if self._hosts is not None:
            # A page of another site whose name was made to point here (DNS rebinding) says that name.
            name = request.header(b"host").lower()
            name = name if name.endswith("]") else name.rsplit(":", 1)[0]
            if name not in self._hosts:
                raise Problem(421, "this server does not go by that name; --allow-host NAME lets it")
        tokens = self._learn if needed == LEARN else self._read if needed == READ else []
        if not tokens:
            return
        kind, _, given = request.header(b"authorization").partition(" ")
        word = given.strip().encode("latin-1", "replace")
        if kind.lower() == "bearer" and _is_one_of(word, tokens):
            return
        if kind.lower() == "bearer" and _is_one_of(word, self._read):
            raise Problem(403, "this token may read, but not teach; learning has a token of its own")
        challenge = ((b"www-authenticate", b'Bearer realm="xtrellis"'),)
        raise Problem(401, "a token is needed: send the header Authorization: Bearer TOKEN", headers=challenge)

    def origin(self, request: Request) -> tuple[tuple[bytes, bytes], ...]:
        """Headers that let the page of another site read the answer, if it was named."""
        origin = request.header(b"origin") if self._origins else ""
        if not origin or origin not in self._origins:
            return ()
        return ((b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin"))


def _is_one_of(word: bytes, tokens: Sequence[bytes]) -> bool:
    """All are compared, each in constant time: how long it takes tells nothing of the tokens."""
    return sum(hmac.compare_digest(word, token) for token in tokens) > 0


class AccessLog:
    """A JSON object a line for each request: never a text, unless it was asked for."""

    def __init__(self, where: str | None, *, with_texts: bool) -> None:
        self._file: BinaryIO | None = None
        self.with_texts = with_texts
        if where == "-":
            self._file = sys.stdout.buffer
        elif where is not None:
            self._file = Path(where).open("ab")  # noqa: SIM115 - it is open as long as the server
        self.on = self._file is not None
        self._lines: list[bytes] = []
        self._size = 0

    def note(self, request: Request, status: int, seconds: float, n_bytes: int, **more: Any) -> None:
        """Remember a request; lines are written some at a time."""
        if self._file is None:
            return
        now, client = time.time(), request.scope.get("client")
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z",
            "client": client[0] if client else None,
            "method": request.method,
            "path": request.path[:300],
            "status": status,
            "ms": round(1000 * seconds, 3),
            "bytes": n_bytes,
        }
        if request.model is not None:
            line |= {"model": request.model, "texts": len(request.texts)}
            if self.with_texts:
                line["content"] = list(request.texts)
        raw = json.dumps({**line, **more}).encode() + b"\n"
        self._lines.append(raw)
        self._size += len(raw)
        if self._size > KEPT:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._file is not None and self._lines:
            lines, self._lines, self._size = self._lines, [], 0
            try:
                self._file.write(b"".join(lines))
                self._file.flush()
            except OSError as error:  # a full disk or a closed pipe must not stop the service
                sys.stderr.write(f"the access log cannot be written: {error}\n")
