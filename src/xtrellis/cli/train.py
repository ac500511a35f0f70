"""`xtrellis train DATA --to MODEL`: from a file to a trained, measured, saved model."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core import ParameterError
from . import show
from .options import DataPath, Debug, Format, Json, Quiet, Read, Threads
from .tradeoff import Tradeoff

if TYPE_CHECKING:
    from ..model import Model
    from ..tagger import Tagger


def train(
    data: DataPath,
    to: Annotated[Path, typer.Option("--to", metavar="MODEL", help="Folder to write; a model there is replaced.")],
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="Kind of model; a wrong name lists them all. `xr-linear` if not given."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A parameter: `index.arity=8`, `vectorizer.ngrams=2`; repeatable."
        ),
    ] = None,
    tradeoff: Annotated[
        str | None,
        typer.Option(
            "--tradeoff", help="How much frequent labels are nearer to the root: a number, or `auto` to choose it."
        ),
    ] = None,
    max_microseconds: Annotated[
        float | None, typer.Option("--max-microseconds", help="With `--tradeoff auto`: mean time of a query at most.")
    ] = None,
    max_depth: Annotated[
        float | None,
        typer.Option("--max-depth", help="With `--tradeoff auto`: expected depth of the best label at most."),
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", metavar="DATA", help="Measure on this file.")] = None,
    holdout: Annotated[
        float | None,
        typer.Option("--holdout", min=0, max=0.9, help="Share of rows to measure on; 0.1 if there is no test data."),
    ] = None,
    refit: Annotated[
        bool, typer.Option("--refit/--no-refit", help="After measuring, train again on all rows.")
    ] = False,
    label_text: Annotated[
        bool, typer.Option("--label-text", help="Words of the labels' names help to place them in the label tree.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from where a stopped training was.")] = False,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of everything random.")] = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train a model on DATA, measure it on rows it has not seen, and save it."""
    from .evaluate import measure
    from .files import Source, check_target, folder_size, has_parts

    started = time.monotonic()
    check_target(to)
    if holdout and test is not None:
        raise ParameterError("--holdout and --test both say what to measure on; give one of them")
    # Everything about the model is checked before the data is read, so that a typo costs no wait.
    preset = preset or ("xr-linear" if tradeoff is None else "interpolated")
    wanted = Wanted(preset, settings or [], seed, threads)
    chooser = Tradeoff(tradeoff, max_microseconds, max_depth, wanted, resume=resume)
    checkpoints = _Checkpoints(to, wanted.tagger(with_texts=True).model, resume)
    source = Source(format, read, threads)
    if test is None and holdout is None and has_parts(data) and "part" not in source.options:
        test = data  # a folder that brings its own test part
    with show.listening(quiet) as say:
        dataset = source.read(data, "train")
        say(show.dataset(source.name(data, "train"), dataset))
        known, unseen = dataset, None
        if test is not None:
            unseen = source.read(test, "test")
            say(show.dataset(source.name(test, "test"), unseen))
        elif holdout is None or holdout > 0:
            known, unseen = dataset.split(holdout=0.1 if holdout is None else holdout, seed=seed or 0)
            if not known.n_rows or not unseen.n_rows:
                say("too few rows to hold some out; nothing will be measured")
                known, unseen = dataset, None
        tagger = wanted.tagger(with_texts=dataset.texts is not None)
        say(f"training {tagger.model!r}" + (f" on the words of {tagger.vectorizer!r}" if tagger.vectorizer else ""))
        at = checkpoints.open("checkpoint", say)
        prepared = tagger.prepare(known, label_text=label_text)
        if tagger.vectorizer is not None:
            say(f"{prepared.n_features:,} features, {prepared.X.nnz / max(prepared.n_rows, 1):.1f} per row")
        if chooser.auto:
            chooser.choose(say, tagger.model, prepared)
        say(tagger.estimate(prepared))
        tagger.fit(prepared, checkpoint=at)
        n_features = prepared.n_features
        del prepared  # neither it nor the first model shall take memory while a second is trained
        report = measure(tagger, unseen, say=say) if unseen is not None else None
        trained_on = known.n_rows
        if refit and known is not dataset:
            say(f"training again on all {dataset.n_rows:,} rows")
            tagger = wanted.tagger(with_texts=dataset.texts is not None)
            prepared = tagger.prepare(dataset, label_text=label_text)
            tagger.fit(prepared, checkpoint=checkpoints.open("refit-checkpoint", say))
            trained_on, n_features = dataset.n_rows, prepared.n_features
        tagger.save(to)
        checkpoints.discard()
    taken, n_bytes = time.monotonic() - started, folder_size(to)
    if json:
        what = {"rows": dataset.n_rows, "features": n_features, "labels": dataset.n_labels}
        held_out = (
            {"rows": unseen.n_rows, "metrics": dict(report)} if unseen is not None and report is not None else None
        )
        show.as_json(
            {"model": str(to), "preset": preset, "bytes": n_bytes, "seconds": round(taken, 3), "data": what}
            | {"trained_on": trained_on, "held_out": held_out}
        )
        return
    if report is not None and unseen is not None:
        show.result(f"On {unseen.n_rows:,} rows it has not seen{' (' + str(test) + ')' if test else ''}:")
        show.result(report)
    show.result(_fate(trained_on, dataset.n_rows, measured=report is not None, refit=known is not dataset and refit))
    show.result(f"Saved {to} ({show.size(n_bytes)}) after {show.seconds(taken)}.")


class Wanted:
    """The model a command line asks for; built afresh for each training."""

    def __init__(self, preset: str, pairs: list[str], seed: int | None, threads: int | None) -> None:
        from .files import pairs_of

        self.preset, self.pairs = preset, pairs_of("--set", "index.arity=8", pairs)
        self.common = {name: value for name, value in (("seed", seed), ("threads", threads)) if value is not None}

    def tagger(self, *, with_texts: bool) -> Tagger:
        """An untrained tagger; without texts it has no vectoriser, and settings for one are refused."""
        from ..catalog import preset
        from ..tagger import Tagger
        from ..text import Vectorizer

        model, vectorizer = preset(self.preset), Vectorizer() if with_texts else None
        for name, value in self.common.items():
            for part in (model, vectorizer):
                if part is not None and name in part.get_params(deep=False):
                    part.set_params(**{name: value})
        for key, text in self.pairs:
            head, _, rest = key.partition(".")
            if head != "vectorizer":
                model.set_from_text(key, text)
            elif vectorizer is None:
                raise ParameterError(f"--set {key}={text}: the data has features, not texts, so there is no vectorizer")
            elif not rest:
                raise ParameterError(f"--set {key}={text}: name a parameter of it, such as vectorizer.ngrams=2")
            else:
                vectorizer.set_from_text(rest, text)
        return Tagger(vectorizer, model)


class _Checkpoints:
    """Folders beside the target that finished work goes to, so that `--resume` has something to go on from."""

    def __init__(self, to: Path, model: Model, resume: bool) -> None:
        from ..model import Resumes
        from ..store import target_of

        self._target, self._resume = target_of(to), resume
        self._able = isinstance(model, Resumes)
        self._opened: list[Path] = []
        if resume and not self._able:
            raise ParameterError(
                f"--resume: {type(model).__name__} cannot go on from a stopped training; start it anew"
            )

    def open(self, suffix: str, say: show.Say) -> Path | None:
        """The folder for one training: what a stopped one left there is used with --resume and deleted without."""
        from ..store import discard

        if not self._able:
            return None
        path = self._target.with_name(f"{self._target.name}.{suffix}")
        if self._resume:
            say(f"going on from {path}" if path.exists() else f"there is no {path} to go on from; starting anew")
        elif discard(path):
            say(f"deleted {path} of a training that was stopped (--resume goes on from such)")
        self._opened.append(path)
        return path

    def discard(self) -> None:
        """Delete them all: the model is safe."""
        from ..store import discard

        for path in self._opened:
            discard(path)


def _fate(trained_on: int, n_rows: int, *, measured: bool, refit: bool) -> str:
    """Which rows the saved model knows; said plainly, since it decides how to read the table."""
    if trained_on < n_rows:
        return f"The saved model was trained on the other {trained_on:,} of {n_rows:,} rows (--refit trains it on all)."
    if refit:
        return f"The saved model was trained again on all {n_rows:,} rows; the table is of the one before it."
    hint = "" if measured else "; nothing was measured (--holdout 0.1 or --test DATA does)"
    return f"The saved model was trained on all {n_rows:,} rows{hint}."
