"""`--vocabulary`, `--language` and `--unknown` of `xtrellis train`: what labels are called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core import ParameterError
from .. import show

if TYPE_CHECKING:
    from ...data import Dataset


class Words:
    """The vocabulary that a command line names; it is read when the command begins, so that a typo costs no wait."""

    def __init__(self, path: Path | None, language: str | None, unknown: Path | None, *, quiet: bool = False) -> None:
        self.path, self.language, self._unknown = path, language, unknown
        self.vocabulary = None
        if path is None:
            for name, value in (("--language", language), ("--unknown", unknown)):
                if value is not None:
                    raise ParameterError(f"{name} goes with --vocabulary, which is not given")
            return
        if unknown is not None:
            check_list(unknown)
        from ...vocabulary import Vocabulary

        with show.listening(quiet):
            self.vocabulary = Vocabulary.read(path)

    @property
    def for_tagger(self) -> dict[str, Any]:
        """What a Tagger gets of it."""
        return {} if self.vocabulary is None else {"vocabulary": self.vocabulary, "language": self.language}

    @property
    def about(self) -> dict[str, Any]:
        """What is noted in a model."""
        if self.vocabulary is None or self.path is None:
            return {}
        return {"vocabulary": {"file": self.path.name, "labels": len(self.vocabulary), "language": self.language}}

    def applied(self, dataset: Dataset, say: show.Say) -> Dataset:
        """The data with labels by their ids; tells of those that the vocabulary lacks, and lists them."""
        if self.vocabulary is None:
            return dataset
        say(f"{self.path}: {self.vocabulary!r}")
        if self.language is None and len([tag for tag in self.vocabulary.languages if tag]) > 1:
            say(f"names are shown in {self.vocabulary.languages[0]!r}, which most labels have (--language chooses)")
        resolved = self.vocabulary.resolve(dataset, language=self.language)
        if self._unknown is not None:
            resolved.write_unknown(self._unknown)
        hint = "" if self._unknown is not None or not resolved.unknown else " (--unknown FILE lists them)"
        say(f"labels of the data: {resolved}{hint}")
        return resolved.dataset


def check_list(unknown: Path) -> None:
    """Refuse a place for `--unknown` that is not there, before any work."""
    if not unknown.resolve().parent.is_dir():
        raise ParameterError(f"--unknown {unknown} cannot be written: there is no folder {unknown.parent}")
