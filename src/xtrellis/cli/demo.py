"""`xtrellis demo`: the whole way, on data that every installation has — which Python function does a text describe?"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import show
from .options import Debug, Log, Quiet, Threads

if TYPE_CHECKING:
    from ..data import Dataset
    from ..metrics import Report
    from ..tagger import Tagger

QUESTIONS = (
    "eigenvalues of a symmetric matrix",
    "cubic spline interpolation",
    "shortest path between nodes of a graph",
    "split a string at whitespace",
    "wait until a thread has finished",
)


def demo(
    preset: Annotated[str, typer.Option("--preset", help="Kind of model.")] = "best",
    serve: Annotated[
        bool, typer.Option("--serve", help="Then open a page to try it: a server on this computer.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Of that server; 0: any that is free.")] = 8000,
    threads: Threads = None,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train, measure, save and ask a model, on the docstrings of Python, NumPy and SciPy."""
    from ..catalog import preset as make
    from ..data import datasets
    from ..store import load
    from ..tagger import Tagger
    from ..text import Vectorizer
    from .files import folder_size

    if serve:
        from ..serve import require_extra

        require_extra()  # before any work
    with show.listening(quiet) as say, tempfile.TemporaryDirectory(prefix="xtrellis-") as folder:
        with _timed("collected the docstrings of Python, NumPy and SciPy", say):
            pydocs = datasets.load("pydocs")
        say(show.dataset("pydocs", pydocs.train))
        tagger = Tagger(Vectorizer(ngrams=2, threads=threads), make(preset, threads=threads))
        with _timed(f"trained {preset}", say):
            tagger.fit(pydocs.train)
        with _timed(f"measured on {pydocs.test.n_rows:,} paragraphs it has not seen", say):
            report = tagger.evaluate(pydocs.test)
        path = Path(folder) / "pydocs"
        with _timed("saved and loaded again", say):
            tagger.save(path)
            n_bytes = folder_size(path)
            tagger = load(path)
        show.result(f"{tagger.n_labels:,} labels, {show.size(n_bytes)} on disk; on paragraphs it has not seen:")
        show.result(report)
        things = _innermost(tagger.label_names)
        show.result("\nWhich function does a text describe?")
        for question in QUESTIONS:
            begun = time.perf_counter()
            tags = tagger.tag(question, k=50)
            spent = time.perf_counter() - begun
            show.result(f"\n“{question}”  ({1000 * spent:.1f} ms)")
            for tag in [tag for tag in tags if tag.label in things][:5]:
                worth = f"{tag.score:8.3f}" if tag.probability is None else f"{100 * tag.probability:6.1f} %"
                show.result(f"{worth}  {tag.label}")
        show.result('\nYour own data: xtrellis train DATA --to MODEL, then xtrellis tag MODEL "text"')
        if not serve:
            show.result("In a browser: xtrellis demo --serve; your own model: xtrellis serve MODEL")
            return
        _serve(tagger, pydocs.test, report, path, port, say)


def _serve(tagger: Tagger, test: Dataset, report: Report, path: Path, port: int, say: show.Say) -> None:
    """The same model; if it has no probabilities, they are learned from half of the test rows, and looked at with the
    other half."""
    from ..serve import Settings
    from .serve import run

    measured = test.n_rows
    if not tagger.model.answers_probabilities:
        half = test.n_rows // 2
        with _timed("learned what its scores are worth", say):
            tagger.calibrate(test.select(range(half)))
        test = test.select(range(half, test.n_rows))
    honest = tagger.reliability(test)
    tagger.about = {"preset": "demo", "held_out": {"rows": measured, "metrics": dict(report)}}
    if honest is not None:
        tagger.about["reliability"] = honest.to_dict()
    tagger.save(path)
    run(Settings(models=(("pydocs", str(path)),), port=port, feedback=str(path.parent / "feedback")), say)


def _innermost(names: Iterable[str]) -> set[str]:
    """The names that hold no others: functions and methods, not the packages and classes they are in."""
    names = set(names)
    return names - {name[:dot] for name in names for dot in range(len(name)) if name[dot] == "."}


@contextmanager
def _timed(what: str, say: show.Say) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    say(f"{what}: {show.seconds(time.perf_counter() - begun)}")
