"""Data sets as experiments use them: training and test matrices, made once."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..arrays import Array, for_scipy
from ..core import InputError
from ..data import Dataset, datasets, read, shared
from ..labels import inverse_propensity, label_frequency, propensity_constants
from ..text import Vectorizer
from .neighbourhood import neighbourhood

SOME = re.compile(r"(.+)@([1-9][0-9]*)")  # a data set and how many of its rows


@dataclass(frozen=True)
class Prepared:
    """Both parts with features: the given ones, or tf-idf of words."""

    name: str
    train: Dataset
    test: Dataset

    def weights(self) -> Array:
        """Inverse propensities of the labels, from the training part."""
        A, B = propensity_constants(self.name)
        return inverse_propensity(label_frequency(self.train.Y), self.train.n_rows, A=A, B=B)

    def held_out(self, seed: int = 0, share: float = 0.1) -> Prepared:
        """The same with a part of train in place of test: for choosing, not for reporting."""
        train, test = self.train.split(share, seed=seed)
        return Prepared(self.name, train, test)


class Bench:
    """Gives prepared data; keeps the last one, since runs on one data set follow each other."""

    def __init__(self, threads: int | None = None, unfinished: Path | None = None) -> None:
        """`unfinished` is the folder in which trainings are kept that were stopped."""
        self.threads, self.unfinished = threads, unfinished
        self._last: tuple[str, int] | None = None
        self._data: Prepared | None = None

    def data(self, name: str, ngrams: int = 1) -> Prepared:
        """`pydocs`, one of the shared sets by name, or a folder with train and test parts; NAME@1000: so many rows."""
        if self._data is None or self._last != (name, ngrams):
            self._data = None  # two data sets at once may not fit
            self._data, self._last = prepare(name, self.threads, ngrams=ngrams), (name, ngrams)
        return self._data

    def checkpoint(self, run: Mapping[str, Any]) -> Path | None:
        """Where the training of this run goes on after a stop; `discard` it once the run is recorded."""
        if self.unfinished is None:
            return None
        return self.unfinished / hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()[:16]

    def discard(self, run: Mapping[str, Any]) -> None:
        """The checkpoint of a run that is recorded."""
        if at := self.checkpoint(run):
            shutil.rmtree(at, ignore_errors=True)


def prepare(name: str, threads: int | None = None, *, ngrams: int = 1) -> Prepared:
    """Read both parts and give texts their features (of up to `ngrams` words), fitted on train."""
    if (few := SOME.fullmatch(name)) and not Path(name).exists():
        whole = prepare(few[1], threads, ngrams=ngrams)
        return Prepared(name, *neighbourhood(whole.train, whole.test, int(few[2])))
    if name == "pydocs":
        train, test = datasets.load(name)
    elif Path(name).is_dir():
        train = read(name, part="train", threads=threads)
        test = read(name, part="test", labels=train.label_names, threads=threads)
    else:
        train = shared(name, "train", threads=threads)
        test = shared(name, "test", labels=train.label_names, threads=threads)
    if train.X is None:
        if train.texts is None or test.texts is None:
            raise InputError(f"{name}: both parts need texts or features")
        vectorizer = Vectorizer(ngrams=ngrams, threads=threads).fit(train.texts)
        train, test = (_with_features(part, vectorizer) for part in (train, test))
    return Prepared(name, train, test)


def _with_features(part: Dataset, vectorizer: Vectorizer) -> Dataset:
    return replace(part, X=for_scipy(vectorizer.transform(part.texts or [])))
