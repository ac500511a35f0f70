"""fastText's training files: `__label__a __label__b the text`, one row a line. Labels may stand anywhere in it."""

from __future__ import annotations

from pathlib import Path

from ..dataset import Dataset
from .labelled import read_lines
from .options import Options

PREFIX = "__label__"


def read_fasttext(path: Path, options: Options) -> Dataset:
    """A line a text."""
    return read_lines(path, options, lambda content, number: apart(content))


def apart(content: str) -> tuple[str, list[str]]:
    """(text, labels) of a line. What is split at blanks is joined by one, which a Vectorizer does not tell apart."""
    if PREFIX not in content:
        return content, []
    words = content.split()
    labels = [word.removeprefix(PREFIX) for word in words if word.startswith(PREFIX)]
    return " ".join(word for word in words if not word.startswith(PREFIX)), labels
