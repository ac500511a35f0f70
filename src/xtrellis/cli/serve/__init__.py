"""`xtrellis serve MODEL …`: models over HTTP, with a page for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import show
from ..options import Debug, Log, Quiet, Threads

if TYPE_CHECKING:
    from ...serve import Settings


def serve(
    models: Annotated[
        list[str], typer.Argument(metavar="MODEL…", help="Folders of trained models; `ID=FOLDER` names one.")
    ],
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; `0.0.0.0` lets other computers in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes; models are shared.")] = 1,
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="XTRELLIS_TOKEN", show_envvar=True, help="Bearer token that reading needs."),
    ] = None,
    learn_token: Annotated[
        str | None,
        typer.Option(
            "--learn-token",
            envvar="XTRELLIS_LEARN_TOKEN",
            show_envvar=True,
            help="Bearer token that feedback and learning need.",
        ),
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option("--feedback", metavar="FOLDER", help="Keep people's decisions here, as JSON lines.")
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Let decisions change the model, and save it where it lies.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name that browsers may ask for; repeatable."),
    ] = None,
    cors: Annotated[
        list[str] | None,
        typer.Option("--cors", metavar="ORIGIN", help="A site whose pages may ask, `https://…`; repeatable."),
    ] = None,
    max_body: Annotated[int, typer.Option("--max-body", min=1, help="Bytes of a request at most.")] = 16 << 20,
    max_text: Annotated[int, typer.Option("--max-text", min=1, help="Characters of a text at most.")] = 5_000_000,
    max_k: Annotated[int, typer.Option("--max-k", min=1, help="Labels of a text at most.")] = 1000,
    max_concurrent: Annotated[
        int, typer.Option("--max-concurrent", min=1, help="Requests at a time at most, in each worker.")
    ] = 512,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", min=0.1, help="That a client may take to send a request.")
    ] = 30,
    access_log: Annotated[
        str | None, typer.Option("--access-log", metavar="FILE", help="A JSON line for each request; `-` is stdout.")
    ] = None,
    log_texts: Annotated[
        bool, typer.Option("--log-texts", help="With --access-log: also what was asked. Mind whose texts they are.")
    ] = False,
    language: Annotated[
        str, typer.Option("--language", help="Of label names, for Annif's API, if the model has no note of it.")
    ] = "en",
    threads: Threads = None,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Answer over HTTP: our API, Annif's under /v1, and a page at /."""
    from ...serve import Limits, Settings, name_models

    settings = Settings(
        models=name_models(models),
        host=host,
        port=port,
        workers=workers,
        limits=Limits(body=max_body, text=max_text, k=max_k, concurrent=max_concurrent, seconds=max_seconds),
        token=token or None,
        learn_token=learn_token or None,
        feedback=None if feedback is None else str(feedback),
        learn=learn,
        hosts=tuple(allow_host or ()),
        origins=tuple(cors or ()),
        access_log=access_log,
        log_texts=log_texts,
        threads=threads,
        language=language,
    )
    say = show.noting(quiet)
    if not settings.only_loopback and settings.token is None:
        say("everybody who can reach this computer may ask; --token TOKEN keeps others out")
    run(settings, say)


def run(settings: Settings, say: show.Say) -> None:
    """Serve until a signal; requests under way end first."""
    from ...serve import serve as start
    from ..interrupt import stand_aside

    with stand_aside():
        start(settings, say=say)
