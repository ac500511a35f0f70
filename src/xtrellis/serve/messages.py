"""A request as handlers see it, and what they answer with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from .problems import ClientGoneError, Problem
from .settings import Limits

T = TypeVar("T")
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
GONE = "xtrellis.gone"  # what our protocol notes in a scope when its connection is lost
JSON, NDJSON, FORM = "application/json", "application/x-ndjson", "application/x-www-form-urlencoded"
PDF = "application/pdf"
DRAINED = 4  # a body up to so many times too large is read to its end, so that the client hears why it is refused


# of every answer that is data, and the same as it is sent
NO_SNIFF = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
SENT_SO = b"".join(b"%s: %s\r\n" % header for header in NO_SNIFF)


class Body:
    """How many bytes of requests a worker holds."""

    held = 0


class Request:
    """One request. Its body is read when a handler asks for it, no further than allowed."""

    __slots__ = ("_headers", "_receive", "held", "limits", "method", "model", "parts", "path", "scope", "texts")

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, limits: Limits) -> None:
        self.scope, self.limits, self._receive = scope, limits, receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.parts: dict[str, str] = {}  # of the path, by the names that its route gives them
        self._headers: dict[bytes, bytes] | None = None
        self.held = 0
        self.model: str | None = None  # what the log tells
        self.texts: Sequence[str] = ()

    def tells(self, model: str, texts: Sequence[str]) -> None:
        """What it is about, for the log."""
        self.model, self.texts = model, texts

    @property
    def gone(self) -> bool:
        """True if the client has left."""
        return GONE in self.scope

    def header(self, name: bytes) -> str:
        """A header, or an empty string."""
        if self._headers is None:
            self._headers = dict(self.scope["headers"])
        return self._headers.get(name, b"").decode("latin-1")

    @property
    def content_type(self) -> str:
        """Without its parameters."""
        return self.header(b"content-type").partition(";")[0].strip().lower()

    def require_type(self, *allowed: str) -> str:
        """The body's type; refuses others."""
        found = self.content_type
        if found not in allowed:
            said = f"got {found}" if found else "there is none"
            raise Problem(415, f"the header Content-Type must be {' or '.join(allowed)}; {said}")
        return found

    async def body(self) -> bytes:
        """All of it; refuses what is too large or too slow."""
        limits, length = self.limits, self.header(b"content-length")
        if length.isascii() and length.isdigit() and int(length) > limits.body * DRAINED:
            raise _too_large(limits, close=True)
        # Not wait_for, which makes a task: most bodies are there already, and this is on the way of every request.
        task, slow = asyncio.current_task(), []
        if task is None:
            raise RuntimeError("bodies are read by tasks")

        def give_up() -> None:
            slow.append(True)
            task.cancel()

        timer = asyncio.get_running_loop().call_later(limits.seconds, give_up)
        try:
            return await self._read()
        except asyncio.CancelledError:
            if not slow:
                raise
            if hasattr(task, "uncancel"):
                task.uncancel()
            closing = ((b"connection", b"close"),)
            raise Problem(408, f"the request took more than {limits.seconds:g} s to send", headers=closing) from None
        finally:
            timer.cancel()

    async def _read(self) -> bytes:
        limits, size = self.limits, 0
        chunks: list[bytes] = []
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limits.body:
                chunks.clear()
                if size > limits.body * DRAINED:
                    raise _too_large(limits, close=True)
            else:
                chunks.append(chunk)
                self.held += len(chunk)
                Body.held += len(chunk)
                if Body.held > limits.held:
                    raise busy("the server holds too many large requests")
            if not message.get("more_body"):
                break
        if size > limits.body:
            raise _too_large(limits)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def release(self) -> None:
        """The body is no longer held."""
        Body.held -= self.held
        self.held = 0

    async def decoded(self, decoder: msgspec.json.Decoder[T], *, invalid: int = 422) -> T:
        """The JSON body, of the type that the decoder wants."""
        self.require_type(JSON)
        return decode(await self.body(), decoder, invalid=invalid)

    def query(self) -> dict[str, str]:
        """The parameters of the address; of repeated ones, the last."""
        return fields(self.scope["query_string"], "the query", limit=100)


def busy(why: str) -> Problem:
    """Too much at a time: come again."""
    return Problem(429, f"{why}; try again in a moment", headers=((b"retry-after", b"1"),))


def decode(raw: bytes, decoder: msgspec.json.Decoder[T], *, invalid: int = 422, where: str = "the body") -> T:
    """JSON of a certain type; tells what is wrong, and where."""
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        raise Problem(invalid, f"{where}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(400, f"{where} is not JSON: {error}") from None


def fields(raw: bytes, where: str, *, limit: int) -> dict[str, str]:
    """`a=1&b=2` as a dictionary."""
    if not raw:
        return {}
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=limit, encoding="utf-8"
        )
    except (ValueError, UnicodeDecodeError):
        raise Problem(400, f"{where} must be at most {limit} percent-encoded UTF-8 fields: name=value&…") from None
    return dict(pairs)


def whole(given: dict[str, str], name: str, default: int, *, at_least: int = 0, at_most: int | None = None) -> int:
    """An integer of a query or form."""
    said = given.get(name)
    if said is None:
        return default
    top = "" if at_most is None else f" and at most {at_most}"
    try:
        value = int(said) if len(said) < 20 and said.isascii() and "_" not in said else None
    except ValueError:
        value = None
    if value is None or value < at_least or (at_most is not None and value > at_most):
        raise Problem(400, f"{name} must be an integer of at least {at_least}{top}; got {said[:40]!r}")
    return value


def _too_large(limits: Limits, *, close: bool = False) -> Problem:
    detail = f"the request is larger than {limits.body:,} bytes; send fewer texts at a time"
    return Problem(413, detail, headers=((b"connection", b"close"),) if close else ())


class Answer:
    """Status, headers and a body, or the parts of one as they come."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(
        self,
        body: bytes = b"",
        content_type: bytes = b"application/json",
        *,
        status: int = 200,
        headers: tuple[tuple[bytes, bytes], ...] = (),
        stream: AsyncIterator[bytes] | None = None,
    ) -> None:
        self.status, self.body, self.stream = status, body, stream
        length = () if stream is not None or status == 204 else ((b"content-length", str(len(body)).encode()),)
        kind = () if status == 204 else ((b"content-type", content_type),)
        self.headers = (*kind, *length, *headers)


_encoder = msgspec.json.Encoder()


def encoded(value: Any) -> bytes:
    """As JSON; names of labels may hold what UTF-8 has no place for, which becomes a question mark."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_clean(value))


def as_json(value: Any, *, status: int = 200) -> Answer:
    """An answer that is JSON."""
    return Answer(encoded(value), status=status)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(inner) for inner in value]
    return value
