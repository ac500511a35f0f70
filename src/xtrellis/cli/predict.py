"""`xtrellis predict MODEL DATA`: the best labels of every row, as JSON lines, XMC text or a scipy npz file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from ..core import InputError
from . import show
from .options import Beam, DataPath, Debug, Format, K, ModelPath, Quiet, Read, Threads

if TYPE_CHECKING:
    from ..arrays import TopK
    from ..tagger import Tagger

SUFFIXES = (".jsonl", ".txt", ".npz")


def predict(
    model: ModelPath,
    data: DataPath,
    k: K = 10,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="Where to write: .jsonl (names and scores), .txt (XMC text, `label:score`) or .npz (scipy sparse); "
            "JSON lines on stdout if not given.",
        ),
    ] = None,
    beam: Beam = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the best labels of each row of DATA, which needs none."""
    from .files import Source, load_tagger, whole_file

    if to is not None and to.suffix not in SUFFIXES:
        raise InputError(f"--to must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; got {to}")
    source = Source(format, read, threads)
    tagger = load_tagger(model, threads, beam)
    with show.listening(quiet) as say:
        top = tagger.predict(source.read(data, "test", unlabelled=True), k)
        if to is None:
            _write_names(sys.stdout, tagger, top)
            return
        with whole_file(to) as partial:
            if to.suffix == ".npz":
                from scipy.sparse import save_npz

                save_npz(partial, top.to_csr())
            else:
                with partial.open("w", encoding="utf-8", errors="backslashreplace") as stream:
                    (_write_names if to.suffix == ".jsonl" else _write_xmc)(stream, tagger, top)
        say(f"wrote {to}: {len(top):,} rows, {show.size(to.stat().st_size)}")


def _write_names(stream: TextIO, tagger: Tagger, top: TopK) -> None:
    """One object per row: `{"labels": ["a", "b"], "scores": [0.9, 0.2]}`."""
    names = tagger.label_names
    ascii_only = (stream.encoding or "").lower().replace("-", "") != "utf8"
    for row in top:
        line = {"labels": [names[label] for label, _ in row], "scores": [_short(score) for _, score in row]}
        stream.write(json.dumps(line, ensure_ascii=ascii_only) + "\n")


def _write_xmc(stream: TextIO, tagger: Tagger, top: TopK) -> None:
    """The repository's score files: a header `rows labels`, then `label:score` pairs, best first."""
    stream.write(f"{len(top)} {top.n_labels}\n")
    for row in top:
        stream.write(" ".join(f"{label}:{_short(score)}" for label, score in row) + "\n")


def _short(score: float) -> float:
    """As many digits as a float32 has."""
    return float(f"{score:.9g}")
