"""`xtrellis train DATA --to MODEL`: from a file to a trained, measured, saved model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..core import InputError, ParameterError
from . import interrupt, show
from .living.checkpoints import Checkpoints
from .options import (
    Address,
    DataEncoding,
    DataPaths,
    Debug,
    Delimiter,
    EngineName,
    Format,
    Json,
    LeaveOutBadRows,
    Log,
    Quiet,
    Read,
    Threads,
    engine_of,
)
from .tradeoff import Tradeoff
from .vocabulary.words import Words

if TYPE_CHECKING:
    from ..core import Engine
    from ..data import Dataset
    from ..rank import Probabilities
    from ..tagger import PreparedData, Tagger

FEW_MINUTES = 300  # seconds of one core, by the estimate: the same decision on every machine
ENOUGH = 50  # held-out rows that are worth learning probabilities from


def train(
    data: DataPaths,
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
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Train a second time: after measuring on all rows; with `--test` without some, for probabilities. "
            "If not given, where that takes a few minutes at most.",
        ),
    ] = None,
    label_text: Annotated[
        bool, typer.Option("--label-text", help="Words of the labels' names help to place them in the label tree.")
    ] = False,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            "--vocabulary", metavar="FILE", help="What labels are: SKOS, TSV, CSV or JSON lines; kept in MODEL."
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="With --vocabulary: language of the names in DATA and answers.")
    ] = None,
    unknown: Annotated[
        Path | None,
        typer.Option("--unknown", metavar="FILE", help="With --vocabulary: list labels of DATA that it lacks (.tsv)."),
    ] = None,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Keep the training rows in the model, so that `update` can learn on.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from where a stopped training was.")] = False,
    note: Annotated[
        list[str] | None,
        typer.Option("--note", metavar="KEY=VALUE", help="Your own words, kept in the model; repeatable."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of everything random.")] = None,
    engine: EngineName = None,
    address: Address = None,
    threads: Threads = None,
    format: Format = None,
    read: Read = None,
    delimiter: Delimiter = None,
    encoding: DataEncoding = None,
    skip_bad_rows: LeaveOutBadRows = False,
    json: Json = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train a model on DATA, measure it on rows it has not seen, and save it."""
    from ..model import require_engine
    from .evaluate import measure
    from .files import Source, check_target, folder_size, has_parts, pairs_of
    from .provenance import about

    started = time.monotonic()
    check_target(to)
    if holdout and test is not None:
        raise ParameterError("--holdout and --test both say what to measure on; give one of them")
    # Everything about the model is checked before the data is read, so that a typo costs no wait.
    preset = preset or ("xr-linear" if tradeoff is None else "interpolated")
    words = Words(vocabulary, language, unknown, quiet=quiet)
    wanted = Wanted(preset, settings or [], seed, threads, words, keep_rows=keep_rows)
    chooser = Tradeoff(tradeoff, max_microseconds, max_depth, wanted, resume=resume)
    runs_on = engine_of(engine, address, threads)
    require_engine(wanted.tagger(with_texts=True).model, runs_on)
    notes = dict(pairs_of("--note", "ticket=1234", note or [], once=True))
    checkpoints = Checkpoints(to, wanted.tagger(with_texts=True).model, resume)
    source = Source(format, read, threads, delimiter=delimiter, encoding=encoding, skip_bad_rows=skip_bad_rows)
    if test is None and holdout is None and len(data) == 1 and has_parts(data[0]) and "part" not in source.options:
        test = data[0]  # a folder that brings its own test part
    _require_distinct(data, test)
    with interrupt.leaving(*checkpoints.places), show.listening(quiet) as say, runs_on or nullcontext():
        dataset = source.read_all(data, "train")
        say(show.dataset(source.name(data, "train"), dataset))
        dataset = words.applied(dataset, say)
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
        prepared = tagger.prepare(known, label_text=label_text)
        if unseen is not None:
            _require_measurable(unseen, tagger, prepared)
        at = checkpoints.open("checkpoint", say)
        if tagger.vectorizer is not None:
            say(f"{prepared.n_features:,} features, {prepared.X.nnz / max(prepared.n_rows, 1):.1f} per row")
        if chooser.auto:
            chooser.choose(say, tagger.model, prepared)
        expected = tagger.estimate(prepared)
        say(expected)
        again = 0 < expected.seconds <= FEW_MINUTES if refit is None else refit
        if known is dataset:
            refit = False  # it sees all rows as it is
        elif refit is None:
            refit = again
            say(_plan(dataset.n_rows - known.n_rows, expected.seconds, refit))
        tagger.fit(prepared, checkpoint=at, engine=runs_on)
        n_features, learnt_from = prepared.n_features, _Facts.of(prepared)
        del prepared  # neither it nor the first model shall take memory while a second is trained
        report = measure(tagger, unseen, say=say) if unseen is not None else None
        if unseen is not None and test is None and unseen.n_rows >= ENOUGH:
            tagger.calibrate(unseen)  # what its scores are worth; of the model after it too, since little changes
        curves = tagger.probability_curves
        honest = tagger.reliability(unseen) if unseen is not None and tagger.model.answers_probabilities else None
        trained_on = known.n_rows
        if refit:
            say(f"training again on all {dataset.n_rows:,} rows")
            tagger = wanted.tagger(with_texts=dataset.texts is not None)
            prepared = tagger.prepare(dataset, label_text=label_text)
            tagger.fit(prepared, checkpoint=checkpoints.open("refit-checkpoint", say), engine=runs_on)
            tagger.probability_curves = curves
            trained_on, n_features, learnt_from = dataset.n_rows, prepared.n_features, _Facts.of(prepared)
        if test is not None and again and not tagger.model.answers_probabilities:
            tagger.probability_curves = _curves_of_a_tenth(wanted, dataset, label_text, runs_on, say)
        measured = None if unseen is None or report is None else (unseen.n_rows, report)
        tagger.about = about(data, learnt_from, notes, preset=preset, measured=measured, before_refit=refit)
        tagger.about |= words.about
        if honest is not None:  # not of curves learned from these very rows, which would flatter them
            tagger.about["reliability"] = honest.to_dict()
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
    show.result(_fate(trained_on, dataset.n_rows, measured=report is not None, refit=refit))
    show.result(f"Saved {to} ({show.size(n_bytes)}) after {show.seconds(taken)}.")


def _curves_of_a_tenth(
    wanted: Wanted, dataset: Dataset, label_text: bool, engine: Engine | None, say: show.Say
) -> Probabilities | None:
    """What scores are worth, by a second training without a tenth of the rows: test rows are for measuring alone."""
    known, unseen = dataset.split(holdout=0.1, seed=wanted.common.get("seed", 0))
    if unseen.n_rows < ENOUGH:
        return None
    say(f"training again without {unseen.n_rows:,} rows that tell what scores are worth (--no-refit leaves it out)")
    tagger = wanted.tagger(with_texts=dataset.texts is not None)
    tagger.fit(tagger.prepare(known, label_text=label_text), engine=engine)
    tagger.calibrate(unseen)
    return tagger.probability_curves


class _Facts(NamedTuple):
    """What is noted of the data that a model was trained on, after the data itself is gone."""

    n_rows: int
    n_features: int
    n_labels: int
    fingerprint: dict[str, str | None]

    @classmethod
    def of(cls, data: PreparedData) -> _Facts:
        return cls(data.n_rows, data.n_features, data.n_labels, data.fingerprint)


def _plan(n_held_out: int, seconds: int, refit: bool) -> str:
    """What becomes of the held-out rows, said before the work begins."""
    held = f"{n_held_out:,} rows are held out to measure on; "
    if refit:
        return f"{held}then the model is trained again on all rows (--no-refit leaves it as it is)"
    why = f"about {show.seconds(seconds)} of one core once more" if seconds else "how long is not known"
    return f"{held}the saved model will not have seen them (--refit trains it again on all rows: {why})"


class Wanted:
    """The model a command line asks for; built afresh for each training."""

    def __init__(
        self,
        preset: str,
        pairs: list[str],
        seed: int | None,
        threads: int | None,
        words: Words | None = None,
        *,
        keep_rows: bool = False,
    ) -> None:
        from .files import pairs_of

        self.words, self.keep_rows = words, keep_rows
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
        known = {} if self.words is None else self.words.for_tagger
        return Tagger(vectorizer, model, keep_rows=self.keep_rows, **known)


def _require_distinct(data: Sequence[Path], test: Path | None) -> None:
    """No file twice, and none to measure on that is trained on: it would not be what the model has not seen."""
    seen: set[Path] = set()
    for path in data:
        if path.is_file() and path.resolve() in seen:
            raise InputError(f"{path} is given twice; its rows would count double")
        seen.add(path.resolve())
    if test is not None and test.is_file() and test.resolve() in seen:
        raise InputError(
            f"--test {test} is trained on as well, and would measure what the model knows by heart; leave --test out, "
            "and a tenth of the rows is held out"
        )


def _require_measurable(unseen: Dataset, tagger: Tagger, prepared: PreparedData) -> None:
    """What measuring will ask of the test data, asked before training: an error after it would cost the model."""
    from ..data import align
    from ..tagger import OTHER_FEATURES

    if not unseen.n_rows:
        raise InputError("the test data has no rows: there is nothing to measure on")
    if unseen.texts is None or tagger.vectorizer is None:
        if unseen.X is None:
            raise InputError("the test data has texts only, the training data features")
        if unseen.n_features != prepared.n_features:
            raise InputError(
                f"the test data has {unseen.n_features:,} features, the training data {prepared.n_features:,}"
            )
        if (
            None not in (unseen.feature_names, prepared.feature_names)
            and unseen.feature_names != prepared.feature_names
        ):
            raise InputError(OTHER_FEATURES)
    if unseen.texts is None and tagger.model.reads_texts:
        raise InputError(f"the test data has no texts, which a {type(tagger.model).__name__} reads")
    align(tagger.by_ids(unseen), prepared.names, unknown="keep")


def _fate(trained_on: int, n_rows: int, *, measured: bool, refit: bool) -> str:
    """Which rows the saved model knows; said plainly, since it decides how to read the table."""
    if trained_on < n_rows:
        return f"The saved model was trained on the other {trained_on:,} of {n_rows:,} rows (--refit trains it on all)."
    if refit:
        return f"The saved model was trained again on all {n_rows:,} rows; the table is of the one before it."
    hint = "" if measured else "; nothing was measured (--holdout 0.1 or --test DATA does)"
    return f"The saved model was trained on all {n_rows:,} rows{hint}."
