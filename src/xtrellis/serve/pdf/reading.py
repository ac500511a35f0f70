"""Text of PDF files, read by a process of its own (`child`) that a hostile file can only take down itself.

The child has limits of memory, processor time, open files and pages, and is killed when its time is up or its client
has left. It needs the extra `pdf`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..messages import PDF, Answer, Request, as_json
from ..problems import ClientGoneError, Problem

if TYPE_CHECKING:
    from ..app import App

SECONDS = 20.0  # that a file may take
MEMORY = 1 << 30  # bytes that a child may take
PAGES = 300  # that are read; of longer files, the first ones
AT_ONCE = 2  # children of a worker; others wait


def places() -> asyncio.Semaphore:
    """Of children, in a worker."""
    return asyncio.Semaphore(AT_ONCE)


def available() -> bool:
    """True if the library is there."""
    return find_spec("pypdf") is not None


async def text(app: App, request: Request) -> Answer:
    """POST /text: the text of a PDF file."""
    request.require_type(PDF)
    return as_json(await read(app, request, await request.body()))


async def read(app: App, request: Request, raw: bytes) -> dict[str, Any]:
    """`text`, how many `pages` there are and how many were `read`; refuses what is no PDF, locked, or without text."""
    if not available():
        raise Problem(415, "PDF files are read only where pypdf is installed: pip install 'xtrellis[pdf]'")
    if not raw.lstrip()[:5] == b"%PDF-":
        raise Problem(422, "the body is no PDF file: it does not begin with %PDF-")
    async with app.pdf_places:
        told = await _by_child(request, raw, app.settings.limits.text)
    if "error" in told:
        raise Problem(422, f"the PDF file {told['error']}")
    return told


async def _by_child(request: Request, raw: bytes, most: int) -> dict[str, Any]:
    if request.gone:
        raise ClientGoneError
    command = (sys.executable, "-I", "-m", "xtrellis.serve.pdf.child", *map(str, (PAGES, most, int(SECONDS), MEMORY)))
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env={}, cwd="/", close_fds=True
    )
    try:
        said, _ = await asyncio.wait_for(child.communicate(raw), SECONDS)
    except asyncio.TimeoutError:
        raise Problem(422, f"the PDF file could not be read within {SECONDS:g} s") from None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    if child.returncode != 0 or not said:
        raise Problem(422, "the PDF file is damaged, or takes too much to read")
    told: dict[str, Any] = json.loads(said)
    return told
