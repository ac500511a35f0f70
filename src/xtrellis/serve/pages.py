"""The page for people and the page about the API: a few files of this package, read once, and what browsers may do."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from .messages import Answer, Request
from .problems import Problem

if TYPE_CHECKING:
    from .app import App

KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


@cache
def assets() -> dict[str, tuple[bytes, bytes, bytes]]:
    """File name -> content, type, hash. Nothing else can be asked for, whatever a path says."""
    found = {}
    for file in files(__package__).joinpath("page").iterdir():
        kind = KINDS.get("." + file.name.rpartition(".")[2])
        if kind is not None and not file.name.startswith("."):
            raw = file.read_bytes()
            found[file.name] = (raw, kind, b'"' + hashlib.blake2b(raw, digest_size=12).hexdigest().encode() + b'"')
    return found


async def page(app: App, request: Request) -> Answer:
    """GET /."""
    return _file(request, "index.html")


async def docs(app: App, request: Request) -> Answer:
    """GET /docs."""
    return _file(request, "docs.html")


async def asset(app: App, request: Request) -> Answer:
    """GET /page/{file}."""
    return _file(request, request.parts["file"])


def _file(request: Request, name: str) -> Answer:
    found = assets().get(name)
    if found is None:
        raise Problem(404, "there is no such page")
    raw, kind, tag = found
    headers = (*SAFE, (b"etag", tag), (b"cache-control", b"no-cache"))
    if request.header(b"if-none-match").encode("latin-1") == tag:
        return Answer(b"", kind, status=304, headers=headers)
    return Answer(raw, kind, headers=headers)
