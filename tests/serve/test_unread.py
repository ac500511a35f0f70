"""Clients that ask and ask and do not read: their answers do not pile up in the server."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import closing
from pathlib import Path

from serve_world import texts_and_labels
from uvicorn.server import ServerState

from xtrellis.serve import Settings
from xtrellis.serve.app import App
from xtrellis.serve.protocol import Config, Protocol
from xtrellis.serve.quick import Lone

BODY = json.dumps({"text": texts_and_labels(1, 3)[0][0], "k": 12}).encode()
HEAD = b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
    BODY
)
REQUESTS = 3_000  # far more than the buffers of this test hold answers


async def answered(made: list[Protocol]) -> bool:
    """True when no request waits for its answer; False if one waits for half a second."""
    for _ in range(500):
        if not made or made[0].cycle is None or made[0].cycle.response_complete:
            return True
        await asyncio.sleep(0.001)
    return False


async def asked_and_not_read(app: App) -> tuple[int, int, int]:
    """How many requests the quick way took, how many went at all, and the most bytes that waited in the server."""
    loop = asyncio.get_running_loop()
    config = Config(
        app, http=Protocol, ws="none", lifespan="off", log_config=None, access_log=False, proxy_headers=False
    )
    config.load()
    made: list[Protocol] = []
    quick = most = 0

    def connected() -> Protocol:
        made.append(Protocol(config=config, server_state=ServerState(), app_state={}))
        return made[-1]

    with closing(socket.create_server(("127.0.0.1", 0))) as listening, closing(socket.socket()) as client:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        server = await loop.create_server(connected, sock=listening)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, listening.getsockname())
        sent = 0
        while sent < REQUESTS and await answered(made):
            await loop.sock_sendall(client, HEAD + BODY)
            sent += 1
            while not made or made[0].cycle is None:
                await asyncio.sleep(0)
            await asyncio.sleep(0.001)  # it reads this one
            quick += isinstance(made[0].cycle, Lone)
            most = max(most, made[0].raw.get_write_buffer_size())
        made[0].raw.abort()
        server.close()
        await asyncio.sleep(0.05)
    return quick, sent, most


def test_answers_that_nobody_reads_do_not_pile_up(folder: Path) -> None:
    app = App(Settings(models=(("topics", str(folder)),)))
    app.load()

    async def run() -> tuple[int, int, int]:
        app.start()
        try:
            return await asked_and_not_read(app)
        finally:
            app.stop()

    quick, sent, most = asyncio.run(run())
    assert quick > 10  # the way that has no task to hold up was taken
    assert sent < REQUESTS  # until the client was seen not to read: then the answer waits for it
    assert most < 2 * 65_536, (quick, sent, most)
