"""Requests a second, and how long they take: client and server on one machine.

    python benchmarks/serve.py MODEL [--seconds 10] [--peers] [--minutes 0]

wrk (Debian's package) asks `xtrellis serve MODEL` for labels of short texts: as fast as it can on 32 connections, then
a client of our own (`paced.cpp`) at half of that load and at 1,500 requests a second, whose times are taken from when a
request was due, so that waiting counts.
`--peers` asks Annif's own server with omikuji and a plain FastAPI around PECOS the same, in the same run
(`serve_peers.py`; `--keep FOLDER` keeps what they have learned). Then texts in batches, beside `predict` of the same
texts in this process. `--minutes` adds a long run on 64 connections, with the model replaced every 20 seconds: every
answer is compared, and the server's memory watched. On a machine that others use as well, look at the processor time
of a request or text: it says what the rate would be.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import record
from serve_peers import Peer, annif, body_for, pecos

import xtrellis as xt

WRK = """
local bodies = {{ {bodies} }}
local i = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "{kind}"
request = function()
  i = i % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[i])
end
"""


class Server:
    def __init__(self, model: Path, *options: str) -> None:
        command = [sys.executable, "-m", "xtrellis", "serve", str(model), "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr or ():
            if found := re.search(r"page: http://127\.0\.0\.1:(\d+)/", line):
                self.port = int(found[1])
                break
        while True:
            try:
                self.ask("GET", "/health")
                return
            except OSError:
                time.sleep(0.1)

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body, {"Content-Type": kind})
        return connection.getresponse().read()

    def processor(self) -> float:
        """Seconds of processor time so far."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Megabytes that are its own; mapped files are not counted."""
        told = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", told)[1]) / 1000

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def wrk(
    server: Server | Peer, bodies: list[str], seconds: int, connections: int, *, path: str = "/tag",
    kind: str = "application/json",
) -> dict[str, float]:  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK.format(kind=kind, bodies=", ".join(f"[==[{body}]==]" for body in bodies)))
        script.flush()
        before, client = server.processor(), resource.getrusage(resource.RUSAGE_CHILDREN)
        told = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script.name,
             f"http://127.0.0.1:{server.port}{path}"], capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    if "Non-2xx" in told or "Socket errors" in told:
        raise SystemExit(told)
    asked = int(re.search(r"(\d+) requests in", told)[1])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - client.ru_utime - client.ru_stime
    found = re.search(r"99%\s+([\d.]+)(us|ms|s)", told)
    return {
        "requests_per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1]),
        "p99_ms": float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2]],
        "server_cpu_us": 1e6 * (server.processor() - before) / asked,
        "client_cpu_us": 1e6 * spent / asked,
        "load": os.getloadavg()[0],
    }


def paced(
    client: Path, server: Server, bodies: list[str], rate: float, seconds: float, connections: int
) -> dict[str, float]:
    """`rate` requests a second, each timed from when it was due (`paced.cpp`), and the server's processor time."""
    before = server.processor()
    told = subprocess.run([client, str(server.port), str(rate), str(seconds), str(connections)], check=True,
                          input="\n".join(bodies) + "\n", stdout=subprocess.PIPE, text=True).stdout  # fmt: skip
    spent = 1e6 * (server.processor() - before) / int(rate * seconds)
    return {**json.loads(told), "server_cpu_us": spent, "client": "native", "load": os.getloadavg()[0]}


def compiled(folder: Path) -> Path:
    """The client that asks at a constant rate. One in Python was itself late, and shared its core with the server."""
    made = folder / "paced"
    subprocess.run(["c++", "-O2", "-std=c++20", "-o", made, Path(__file__).with_name("paced.cpp")], check=True)
    return made


def in_batches(server: Server, tagger: xt.Tagger, texts: list[str], turns: int = 15) -> dict[str, float]:
    """Server and `predict` in turns, so that both meet the same machine; the share is the median of the turns'."""
    body = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    served, alone, cpu = [], [], [0.0, 0.0]
    for turn in range(turns + 1):
        begun, before = time.perf_counter(), server.processor()
        lines = server.ask("POST", "/tag?k=5", body, "application/x-ndjson").count(b"\n")
        middle, between = time.perf_counter(), time.process_time()
        spent = server.processor() - before
        tagger.predict(texts, 5)
        if turn:  # the first warms both up
            served.append(lines / (middle - begun))
            alone.append(len(texts) / (time.perf_counter() - middle))
            cpu[0] += spent
            cpu[1] += time.process_time() - between
    shares = sorted(a / b for a, b in zip(served, alone, strict=True))
    return {
        "texts_per_second": statistics.median(served),
        "predict_texts_per_second": statistics.median(alone),
        "share": statistics.median(shares),
        "share_least": shares[0],
        "share_most": shares[-1],
        "turns": turns,
        "cpu_us": 1e6 * cpu[0] / (turns * len(texts)),
        "predict_cpu_us": 1e6 * cpu[1] / (turns * len(texts)),
        "cpu_share": cpu[1] / cpu[0],
        "load": os.getloadavg()[0],
    }


async def long_run(server: Server, model: Path, bodies: list[str], minutes: float) -> dict[str, float]:
    """64 connections, all answers compared, the model replaced again and again."""
    wanted = {body: server.ask("POST", "/tag", body.encode()).partition(b'"tags"')[2] for body in bodies}
    until, asked, wrong, lost, sizes = time.monotonic() + 60 * minutes, 0, 0, 0, []

    async def client() -> None:
        nonlocal asked, wrong, lost
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        while time.monotonic() < until:
            body = random.choice(bodies)
            raw = body.encode()
            writer.write(b"POST /tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(raw) + raw)  # fmt: skip
            asked += 1
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                answer = await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))
            except (OSError, EOFError):
                lost += 1
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                continue
            wrong += answer.partition(b'"tags"')[2] != wanted[body]
        writer.close()

    async def replace() -> None:
        while time.monotonic() < until:
            await asyncio.sleep(min(20.0, max(0.1, until - time.monotonic())))
            await asyncio.to_thread(lambda: xt.load(model).save(model))
            sizes.append(server.memory())

    await asyncio.gather(replace(), *[client() for _ in range(64)])
    reloads = float(re.search(rb"xtrellis_reloads_total (\d+)", server.ask("GET", "/metrics"))[1])
    return {"minutes": minutes, "requests": asked, "wrong": wrong, "lost": lost, "reloads": reloads,
            "memory_first_mb": sizes[0], "memory_last_mb": sizes[-1], "memory_most_mb": max(sizes)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument(
        "--texts", type=Path, help="JSON lines with texts to ask for; the demo's questions if not given"
    )
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--keep", type=Path, help="folder of the peers' models")
    parser.add_argument("--shared", action="store_true", help="note that others use the machine meanwhile")
    parser.add_argument("--only-long", action="store_true", help="the long run alone")
    parser.add_argument("--only-batches", action="store_true", help="lines of texts beside predict alone")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / args.model.name
        shutil.copytree(args.model, model)
        tagger = xt.load(model)
        if args.texts:
            texts = [json.loads(line)["text"] for line in args.texts.read_text().splitlines()[:5000]]
        else:
            texts = list(xt.datasets.load("pydocs").test.texts)
        short = [" ".join(text.split()[:8]) for text in texts[:200]]
        bodies = [json.dumps({"text": text, "k": 5}).replace("]==]", "") for text in short]
        facts = {"model": args.model.name, "labels": tagger.n_labels}
        keep = (args.keep or Path(folder)).resolve()
        peers = [start(keep / start.__name__) for start in (pecos, annif)] if args.peers else []
        client = compiled(Path(folder))
        server = Server(model)
        try:
            for connections in () if args.only_long or args.only_batches else (1, 32, 64):
                fast = wrk(server, bodies, args.seconds, connections)
                print(connections, fast)
                record("serve", what="wrk", connections=connections, **facts, **fast)
                most = fast["requests_per_second"] if connections == 32 else 0.0
                if most:
                    for aim, rate in (("half", most / 2), ("1500", 1500.0)):
                        half = paced(client, server, bodies, rate, args.seconds, 32)
                        print(half)
                        record("serve", what="paced", aim=aim, **facts, **half)
                for peer in peers:
                    asked = [body_for(peer, body) for body in bodies]
                    told = wrk(peer, asked, args.seconds, connections, path=peer.path, kind=peer.kind)
                    print(peer.name, connections, told)
                    record("serve", what="peer", peer=peer.name, connections=connections, **told)
            if not args.only_long:
                batches = in_batches(server, tagger, texts)
                print(batches)
                record("serve", what="batches", **facts, **batches)
            if args.minutes:
                run = asyncio.run(long_run(server, model, bodies, args.minutes))
                print(run)
                record("serve", what="long", shared=args.shared, load=os.getloadavg()[0], **facts, **run)
        finally:
            for running in (server, *peers):
                running.stop()


if __name__ == "__main__":
    main()
