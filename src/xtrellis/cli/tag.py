"""`xtrellis tag MODEL "text"`: the labels of one text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core import InputError
from . import show
from .options import Beam, Debug, Json, K, ModelPath

FEATURES = 6  # a step, where several labels are explained

if TYPE_CHECKING:
    from ..tagger import Tag, Tagger


def tag(
    model: ModelPath,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text; from stdin if `-` or not given.")
    ] = None,
    k: K = 5,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Only labels with at least this score.")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line of stdin is a text of its own.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show which words speak for each label.")] = False,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="NAME", help="Explain this label at length, found or not; repeatable."),
    ] = None,
    beam: Beam = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Name the best labels of a text."""
    from .files import load_tagger

    if lines and text not in (None, "-"):
        raise InputError("--lines reads texts from stdin; leave TEXT out")
    tagger = load_tagger(model, beam=beam)
    tagger.require_vectorizer()
    texts = _from_stdin(lines) if text in (None, "-") else [text or ""]
    answers = tagger.tag_many(texts, k, threshold=threshold)
    if json:
        documents = [_document(tagger, *pair, explain, label) for pair in zip(texts, answers, strict=True)]
        show.as_json(documents if lines else documents[0])
        return
    for position, (one, tags) in enumerate(zip(texts, answers, strict=True)):
        if lines:
            show.result(("\n" if position else "") + one)
        _show(tagger, one, tags, explain, label)


def _from_stdin(lines: bool) -> list[str]:
    if sys.stdin.isatty():
        sys.stderr.write("reading a text from the terminal; end it with Ctrl-D\n")
    try:
        whole = sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InputError(f"stdin is not {error.encoding} text: {error.reason} at byte {error.start}") from None
    return whole.splitlines() if lines else [whole]


def _show(tagger: Tagger, text: str, tags: list[Tag], explain: bool, labels: list[str] | None) -> None:
    """Tags as lines; explained ones as blocks with a line between them, those that were asked for at length."""
    if labels:
        for i, name in enumerate(labels):
            _block(tagger.explain(text, name).render(), first=i == 0)
        return
    if not tags:
        show.result("(no labels)")
    for i, tag in enumerate(tags):
        if explain:
            _block(tagger.explain(text, tag.label).render(top=FEATURES, compact=True), first=i == 0)
        else:
            show.result(f"{tag.score:8.4f}  {tag.label}")


def _block(thing: Any, *, first: bool) -> None:
    if not first:
        show.result("")
    show.result(thing)


def _document(tagger: Tagger, text: str, tags: list[Tag], explain: bool, labels: list[str] | None) -> dict[str, Any]:
    out: list[dict[str, Any]] = [{"label": tag.label, "score": tag.score} for tag in tags]
    if explain:
        for entry in out:
            entry["explanation"] = tagger.explain(text, entry["label"])
    asked = {"asked": [{"label": name, "explanation": tagger.explain(text, name)} for name in labels]} if labels else {}
    return {"text": text, "tags": out, **asked}
