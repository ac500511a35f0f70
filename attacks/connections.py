"""Clients that nobody wants: silent, slow, huge, leaving, talking nonsense; damaged PDF files; workers that are killed.

Each case is a connection. It may end in an answer, in a 4xx, or in being closed (both are refusals); a 5xx, a wrong
answer to somebody else, a server that does not answer in time or is gone are faults. All on the loopback.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .common import ROOT, Outcome, Tally

sys.path.insert(0, str(ROOT / "tests"))

TEXT = "knead the dough with flour and yeast, then into the oven"
PATIENCE = 2.0  # seconds that the server gives its clients here
IN_TIME = 20.0  # seconds in which somebody else must be answered, on a machine that does other things too
IDLE = 10_000
HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\n"


def run(seed: int, *, idle: int = IDLE, each: int = 100) -> Tally:
    """All kinds; `each` connections of most of them."""
    from serve_world import Server, trained

    begun, tally = time.monotonic(), Tally()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, idle + 2000), hard))
    try:
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "topics"
            trained().save(model)
            server = Server(model, "--max-seconds", PATIENCE, "--max-body", 1_000_000, "--workers", 2)
            try:
                asyncio.run(Attack(server, tally, random.Random(seed)).all(idle, each))
            finally:
                ended = server.stop()
            if ended != 0:
                tally.add(tally.cases, "the end", "SIGTERM", Outcome("crash", f"the server ended with {ended}"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    tally.seconds = time.monotonic() - begun
    return tally


class Attack:
    """The kinds of clients."""

    def __init__(self, server: Any, tally: Tally, rng: random.Random) -> None:
        self.server, self.tally, self.rng = server, tally, rng
        self.right = server.tag(TEXT)

    def note(self, group: str, what: str, said: bytes) -> None:
        """By the first line of the answer; nothing at all is a connection that was closed."""
        status = int(said[9:12]) if said[:5] == b"HTTP/" and said[9:12].isdigit() else 0
        kind = "answered" if 200 <= status < 400 else "raw error" if status >= 500 else "refused"
        self.tally.add(self.tally.cases, group, what, Outcome(kind, str(status or "closed")))

    async def others(self, group: str) -> None:
        """Somebody else is answered meanwhile, rightly and in time."""
        begun = time.monotonic()
        body = json.dumps({"text": TEXT}).encode()
        closing = HEAD % (b"/tag", b"application/json") + b"Connection: close\r\n"
        said = await self.talk(_sized(closing, body))
        spent = time.monotonic() - begun
        try:
            tags = json.loads(said.partition(b"\r\n\r\n")[2])["tags"]
        except (ValueError, KeyError):
            tags = None
        kind = (
            "wrong" if tags is not None and tags != self.right else "answered" if tags and spent < IN_TIME else "hang"
        )
        self.tally.add(
            self.tally.cases, f"others, beside {group}", TEXT, Outcome(kind, f"{said[:80]!r}", seconds=spent)
        )

    async def talk(self, raw: bytes, *, pause: float = 0.0, step: int = 0, read: bool = True) -> bytes:
        """Send, in steps if wanted, and read what comes first."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        except OSError:
            return b"HTTP/1.1 599 cannot connect"
        try:
            for begin in range(0, len(raw), step or max(1, len(raw))):
                writer.write(raw[begin : begin + (step or len(raw))])
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
            if not read:
                return b""
            said = await asyncio.wait_for(reader.read(100), 60)
            while said[:12].endswith(b" 200") and (more := await asyncio.wait_for(reader.read(65536), 0.5)):
                said += more
            return said
        except asyncio.TimeoutError:
            return said if "said" in locals() else b"HTTP/1.1 598 no answer"
        except OSError:
            return b""
        finally:
            writer.close()

    async def many(self, group: str, n: int, raw: Any, **how: Any) -> None:
        """n clients of a kind at once, and somebody else beside them."""
        waiting = [asyncio.ensure_future(self.talk(raw(i), **how)) for i in range(n)]
        await asyncio.sleep(0.05)
        await self.others(group)
        for i, said in enumerate(await asyncio.gather(*waiting)):
            self.note(group, f"{group} {i}", said)

    async def all(self, idle: int, each: int) -> None:
        rng, json_head = self.rng, HEAD % (b"/tag", b"application/json")
        lines = b"".join(json.dumps({"text": f"{TEXT} {i}"}).encode() + b"\n" for i in range(5000))
        ask_lines = HEAD % (b"/tag", b"application/x-ndjson") + b"Content-Length: %d\r\n\r\n" % len(lines) + lines
        await self.idle(idle)
        await self.many(
            "half a request", each, lambda i: json_head + b"Content-Length: 1000\r\n\r\n" + b"x" * (i % 900)
        )
        slow = json_head + b"X-Slow: " + b"y" * 100
        await self.many("a byte at a time", each, lambda i: slow[i % 20 :], step=1, pause=0.1)
        await self.many(
            "50 MB announced", each, lambda i: json_head + b"Content-Length: 52428800\r\n\r\n" + b"x" * 1000
        )
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        chunks = json_head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 80 + b"0\r\n\r\n"
        await self.many("5 MB in chunks", max(1, each // 10), lambda i: chunks)
        await self.many("left at once", each, lambda i: ask_lines, read=False)
        await self.many("nonsense", 5 * each, lambda i: noise(rng, json_head))
        file = HEAD % (b"/text", b"application/pdf")
        await self.many("PDF", each // 2, lambda i: _sized(file, damaged_pdf(rng)))
        await self.unread(max(2, each // 10), ask_lines)
        await self.killed(max(2, each // 10))
        faults = self.server.metric("xtrellis_faults_total")
        self.tally.add(
            self.tally.cases, "the end", "faults", Outcome("raw error" if faults else "answered", f"{faults}")
        )

    async def idle(self, n: int) -> None:
        """Connections that say nothing are all closed by the server."""
        opened = []
        for begin in range(0, n, 500):
            coming = [asyncio.open_connection("127.0.0.1", self.server.port) for _ in range(min(500, n - begin))]
            opened += [one for one in await asyncio.gather(*coming, return_exceptions=True) if isinstance(one, tuple)]
            await self.others("silence")

        async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
            try:
                said = await asyncio.wait_for(reader.read(100), 60)
            except asyncio.TimeoutError:
                return b"HTTP/1.1 598 not closed"
            except OSError:
                said = b""
            writer.close()
            return said

        for i, said in enumerate(await asyncio.gather(*(end(*one) for one in opened))):
            self.note("silence", f"connection {i}", said)
        for i in range(n - len(opened)):
            self.note("silence", f"not accepted {i}", b"")

    async def unread(self, n: int, raw: bytes) -> None:
        """Clients that ask for much and read nothing hold nobody up."""
        opened = [await asyncio.open_connection("127.0.0.1", self.server.port, limit=1024) for _ in range(n)]
        for _, writer in opened:
            writer.transport.pause_reading()
            writer.write(raw)
        for _ in range(3):
            await self.others("answers that nobody reads")
            await asyncio.sleep(PATIENCE / 2)
        for i, (_, writer) in enumerate(opened):
            writer.close()
            self.note("answers that nobody reads", f"client {i}", b"")

    async def killed(self, n: int) -> None:
        """Workers die; whoever asks again is answered rightly."""
        for i in range(n):
            worker = json.loads(
                (await self.talk(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")).partition(b"\r\n\r\n")[2]
            )
            os.kill(worker["worker"], signal.SIGKILL)
            said, until = b"", time.monotonic() + IN_TIME
            while not said[:12].endswith(b" 200") and time.monotonic() < until:  # what the dead had taken is lost
                said = await self.talk(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.note("a worker killed", f"kill {i}", said or b"HTTP/1.1 598 no answer")
            await self.others("kills")


def _sized(head: bytes, body: bytes) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def noise(rng: random.Random, head: bytes) -> bytes:
    """What is no HTTP, or nearly is."""
    body = json.dumps({"text": TEXT, "k": 3}).encode()
    raw = bytearray(_sized(head, body))
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 400)) + b"\r\n\r\n"
    for _ in range(rng.randrange(1, 12)):
        place = rng.randrange(len(raw))
        if kind == 1:
            raw[place] = rng.randrange(256)
        elif kind == 2:
            del raw[place : place + rng.randrange(1, 9)]
        else:
            raw[place:place] = rng.choice(
                [b"\r\n", b"\0", b"\xff" * 9, b": ", b"A" * 70_000, b"Transfer-Encoding: x\r\n"]
            )
    return bytes(raw)


def damaged_pdf(rng: random.Random) -> bytes:
    """A small PDF file with pieces changed, doubled or missing; some are whole."""
    from pdf_world import made, page

    raw = bytearray(made(page(TEXT), page("a second page")))
    for _ in range(rng.randrange(0, 8)):
        place, n = rng.randrange(9, len(raw)), rng.randrange(1, 20)
        doubled, odd = bytes(raw[place : place + n]) * 3, rng.randbytes(n)
        raw[place : place + n] = rng.choice([b"", doubled, b"<<" * 2000, b"2 0 R", b"99999999999", odd])
    return bytes(raw)
