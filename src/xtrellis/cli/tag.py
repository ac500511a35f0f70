"""`xtrellis tag MODEL TEXT`: the labels of a text, of files, of everything that comes in."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import show
from .options import (
    Beam,
    Debug,
    Encoding,
    Guess,
    K,
    Log,
    ModelPath,
    Quiet,
    SkipBadRows,
    Threads,
    Threshold,
    threshold_of,
)
from .streams.lines import Names, tagged_lines
from .typed import as_typed

MOST_NAMED = 20  # files that could not be read
UNREAD = 2  # exit code if some could not
FEATURES = 6  # a step, where several labels are explained

if TYPE_CHECKING:
    from ..tagger import Tag, Tagger
    from .streams.rows import Answered


def tag(
    model: ModelPath,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]", help="A text; or files and folders of texts, which are read; stdin if `-` or not given."
        ),
    ] = None,
    k: K = 5,
    threshold: Threshold = None,
    guess: Guess = False,
    lines: Annotated[bool, typer.Option("--lines", help="Each line of stdin or a file is a text of its own.")] = False,
    literal: Annotated[
        bool, typer.Option("--text", help="TEXT is the text, even if a file of that name exists.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show which words speak for each label; `--label` does at length.")
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME",
            help="Explain this label at length, found or not: its name, id, or a part; repeatable.",
        ),
    ] = None,
    skip_bad_rows: SkipBadRows = False,
    encoding: Encoding = "utf-8",
    beam: Beam = None,
    threads: Threads = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line for each text, as soon as it is tagged.")
    ] = False,
    log: Log = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Name the best labels of a text, or of each of many."""
    from .files import load_tagger, require_probabilities
    from .streams.rows import Counts, answer, answered
    from .streams.texts import find_texts

    cut = threshold_of(threshold)
    tagger = load_tagger(model, threads=threads, beam=beam)
    tagger.require_vectorizer()
    if isinstance(cut, str):
        require_probabilities(tagger, model, f"--threshold {cut}")
    say = show.noting(quiet)
    texts = find_texts(
        text or [], literal=literal, lines=lines, encoding=encoding, skip_bad_rows=skip_bad_rows, say=say
    )
    asked = [tagger.find_label(name, part=True) for name in label or []]
    view = View(tagger, texts.named, json, explain, [tagger.label_ids[number] for number in asked])
    counts = Counts()
    if texts.one:
        for block in texts.blocks(lambda: True):
            view.show(answer(tagger, block, k, cut, guess), heading=False)
        return
    with show.listening(quiet or texts.size is None):
        found = answered(
            tagger, texts.blocks, texts.size, k, counts=counts, threshold=cut, guess=guess, title="tagging"
        )
        with closing(found):
            for answers in found:
                view.show(answers, heading=True)
        if not quiet:
            counts.bad = counts.bad if skip_bad_rows else 0  # files, which are named below
            for note in counts.notes(guess=guess):
                say(note)
    if texts.unread and not skip_bad_rows:
        for why in texts.unread[:MOST_NAMED]:
            show.warning(as_typed(why, "tag"))
        rest = len(texts.unread) - MOST_NAMED
        more = f" ({rest:,} more)" if rest > 0 else ""
        show.warning(f"{len(texts.unread):,} of {len(texts.files or []):,} files could not be read{more}")
        raise typer.Exit(UNREAD)


class View:
    """How answers are shown: as lines with a heading, explained, or as JSON."""

    def __init__(self, tagger: Tagger, named: bool, as_json: bool, explain: bool, labels: Sequence[str]) -> None:
        self._tagger, self._named, self._json = tagger, named, as_json
        self._explain, self._labels = explain, labels
        self._first = True
        self._names = Names(tagger, sys.stdout)

    def show(self, found: Answered, *, heading: bool) -> None:
        """A block of answers; whoever reads them shall have them at once."""
        if self._explain or self._labels:
            for row, (text, tags) in enumerate(
                zip(found.block.texts or [], self._tagger.named(found.top), strict=True)
            ):
                reason = found.reason(row, self._tagger) if not tags else None
                if self._json:
                    sys.stdout.write(self._document(text, tags, self._name(found, row), reason))
                    continue
                if heading:
                    sys.stdout.write(self._heading(found, row, text))
                self._explained(text, tags, reason)
            sys.stdout.flush()
        elif self._json:
            show.write(tagged_lines(found, self._tagger, self._names, named=self._named))
        else:
            show.write(self._lines(found, heading))

    def _lines(self, found: Answered, heading: bool) -> Iterator[str]:
        tagger = self._tagger
        answers = found.top if found.chances is None else found.chances
        for row, (text, tags) in enumerate(zip(found.block.texts or [], answers, strict=True)):
            if heading:
                yield self._heading(found, row, text)
            for label, score in tags:
                shown = f"{score:8.4f}" if found.chances is None else f"{score:8.1%}"
                yield f"{shown}  {tagger.title(label)}\n"
            if not tags:
                yield nothing(found.reason(row, self._tagger))

    def _heading(self, found: Answered, row: int, text: str) -> str:
        """The text, or the name of its file, with a line above it that is empty."""
        above, self._first = "" if self._first else "\n", False
        return f"{above}{self._name(found, row) or text}\n"

    def _name(self, found: Answered, row: int) -> str | None:
        passed = found.block.passed
        return passed[row].get("file") if passed and self._named else None

    def _explained(self, text: str, tags: Sequence[Tag], reason: str | None) -> None:
        """Blocks with a line between them, those that were asked for at length."""
        if self._labels:
            for i, name in enumerate(self._labels):
                _block(self._tagger.explain(text, name).render(), first=i == 0)
            return
        if not tags:
            sys.stdout.write(nothing(reason))
        for i, tag in enumerate(tags):
            _block(self._tagger.explain(text, tag.id).render(top=FEATURES, compact=True), first=i == 0)

    def _document(self, text: str, tags: Sequence[Tag], name: Any, reason: str | None) -> str:
        known = self._tagger.vocabulary is not None
        out: list[dict[str, Any]] = [
            {**({"id": tag.id} if known else {}), "label": tag.label, "score": show.short(tag.score)} for tag in tags
        ]
        for entry, tag in zip(out, tags, strict=True):
            if tag.probability not in (None, tag.score):
                entry["probability"] = show.short(tag.probability or 0)
        if self._explain:
            for entry, tag in zip(out, tags, strict=True):
                entry["explanation"] = self._tagger.explain(text, tag.id)
        document: dict[str, Any] = {"text": text} if name is None else {"file": name}
        document["tags"] = out
        if reason is not None:
            document["reason"] = reason
        if self._labels:
            explained = [self._tagger.explain(text, label) for label in self._labels]
            document["asked"] = [
                {**({"id": one.id} if known else {}), "label": one.label, "explanation": one} for one in explained
            ]
        return json_module.dumps(document, ensure_ascii=self._names.ascii_only, default=show.plain) + "\n"


def nothing(reason: str | None) -> str:
    """What stands where there are no labels."""
    return f"(no labels: {reason})\n" if reason else "(no labels)\n"


def _block(thing: Any, *, first: bool) -> None:
    if not first:
        show.result("")
    show.result(thing)
