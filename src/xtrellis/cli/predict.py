"""`xtrellis predict MODEL DATA`: the best labels of every row, as JSON lines, XMC text or a scipy npz file."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core import Engine, InputError
from . import show
from .options import (
    Address,
    Beam,
    DataPath,
    Debug,
    Delimiter,
    Encoding,
    EngineName,
    Format,
    Guess,
    K,
    Keep,
    Log,
    ModelPath,
    Quiet,
    Read,
    SkipBadRows,
    Threads,
    Threshold,
    engine_of,
    threshold_of,
)

if TYPE_CHECKING:
    from ..tagger import Tagger
    from .streams.rows import Answered

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
            "JSON lines on stdout if not given. With `--engine ray` a folder, of JSON lines in parts.",
        ),
    ] = None,
    threshold: Threshold = None,
    guess: Guess = False,
    keep: Keep = None,
    skip_bad_rows: SkipBadRows = False,
    beam: Beam = None,
    engine: EngineName = None,
    address: Address = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    json: Annotated[bool, typer.Option("--json", help="JSON lines: what stdout gets anyway.")] = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the best labels of each row of DATA, which needs none; `-` is stdin. Rows are answered as they come."""
    from ..data import stream
    from .files import Source, features_of, load_tagger, require_features, require_probabilities, whole_file
    from .streams.rows import Counts, answered, size_of, source_of

    runs_on = engine_of(engine, address, threads)
    if runs_on is not None:
        if threshold is not None or guess or keep or beam is not None or skip_bad_rows or json:
            raise InputError("--engine ray takes -k and --to; leave the other options of predict out")
        if to is None:
            raise InputError("--engine ray writes to a folder: give --to FOLDER")
        source = Source(format, read, None, delimiter=delimiter, encoding=None if encoding == "utf-8" else encoding)
        _on_engine(runs_on, model, data, source, k, to, quiet)
        return
    if to is not None and (to.suffix not in SUFFIXES or json):
        if json:
            raise InputError("--json writes to stdout; leave out --to, or let it end in .jsonl")
        raise InputError(f"--to must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}; got {to}")
    source = Source(format, read, threads, delimiter=delimiter)
    tagger = load_tagger(model, threads, beam)
    options: dict[str, Any] = source.streaming(data) | {
        "keep": _names(keep),
        "skip_bad_rows": skip_bad_rows,
        "encoding": encoding,
        "n_features": features_of(tagger),
    }
    require_features(data, tagger)
    counts, begun, cut = Counts(), time.monotonic(), threshold_of(threshold)
    if isinstance(cut, str):
        require_probabilities(tagger, model, f"--threshold {cut}")
    with show.listening(quiet) as say:
        given = source_of(data)
        read_rows = partial(stream, given, **options)
        rows = answered(
            tagger, read_rows, size_of(given), k, counts=counts, threshold=cut, guess=guess, title="predicting"
        )
        with closing(rows):
            if to is None:
                _to_stdout(rows, tagger)
            else:
                with whole_file(to) as draft:
                    {".jsonl": _to_jsonl, ".txt": _to_xmc, ".npz": _to_npz}[to.suffix](rows, tagger, draft)
        for note in counts.notes(guess=guess):
            say(note)
        spent = time.monotonic() - begun
        rate = f" in {show.seconds(spent)} ({counts.rows / spent:,.0f} rows/s)"
        size = "" if to is None else f", {show.size(to.stat().st_size)}"
        say((f"wrote {to}: " if to is not None else "predicted ") + f"{counts.rows:,} rows{size}{rate}")


def _on_engine(engine: Engine, model: Path, data: Path, source: Any, k: int, to: Path, quiet: bool) -> None:
    from ..engines import predict_to

    begun = time.monotonic()
    with show.listening(quiet) as say:
        dataset = source.read(data, "test", unlabelled=True)
        n_rows = predict_to(engine, model, dataset, to, k)
        spent = time.monotonic() - begun
        say(f"wrote {to}: {n_rows:,} rows in {show.seconds(spent)} ({n_rows / spent:,.0f} rows/s)")


def _names(keep: list[str] | None) -> list[str]:
    """`--keep a,b --keep c` as names."""
    return [name for some in keep or [] for name in some.split(",") if name]


def _to_stdout(rows: Iterator[Answered], tagger: Tagger) -> None:
    from .streams.lines import Names, json_lines

    names = Names(tagger, sys.stdout)
    for found in rows:
        show.write(json_lines(found, tagger, names))


def _to_jsonl(rows: Iterator[Answered], tagger: Tagger, path: Path) -> None:
    from .streams.lines import Names, json_lines

    with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        names = Names(tagger, stream)
        for found in rows:
            stream.writelines(json_lines(found, tagger, names))


def _to_xmc(rows: Iterator[Answered], tagger: Tagger, path: Path) -> None:
    """The repository's score files: a header `rows labels`, known only at the end, then `label:score` pairs."""
    from .streams.lines import Names, xmc_lines

    body = path.with_name(path.name + ".body")
    try:
        n_rows = 0
        with body.open("w", encoding="ascii") as stream:
            names = Names(tagger, stream)
            for found in rows:
                stream.writelines(xmc_lines(found, names))
                n_rows += len(found.top)
        with path.open("wb") as whole, body.open("rb") as written:
            whole.write(b"%d %d\n" % (n_rows, tagger.n_labels))
            shutil.copyfileobj(written, whole, 1 << 20)
    finally:
        body.unlink(missing_ok=True)


def _to_npz(rows: Iterator[Answered], tagger: Tagger, path: Path) -> None:
    """One matrix: it must be in memory as a whole, about 8 bytes for each answer."""
    from scipy.sparse import csr_array, save_npz, vstack

    parts = [found.top.to_csr() for found in rows]
    save_npz(path, vstack(parts, format="csr") if parts else csr_array((0, tagger.n_labels), dtype="f4"))
