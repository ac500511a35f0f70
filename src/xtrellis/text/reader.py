"""`WordReader`: texts for kernels that look for words by themselves, cut by the same rules as a Vectorizer's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._native import text as native
from ..arrays import Int64
from ..core import ParameterError
from .encoding import encode
from .forms import Forms


class EncodedTexts(NamedTuple):
    """UTF-8 of some texts end to end, where each begins, and how kernels cut them into words."""

    blob: bytes
    offsets: Int64
    settings: native.Settings


class WordReader:
    """Words of any script in lower case, by their stems if a language is given; what they become is learned as met."""

    def __init__(self, *, stem: str | None = None, fold_accents: bool = False) -> None:
        if stem is not None and fold_accents:
            raise ParameterError(
                f"stem={stem!r} does not go with fold_accents=True: the rules are for words as they are written"
            )
        self._fold_accents = fold_accents
        self._forms = None if stem is None else Forms(stem, ())

    def read(self, texts: Sequence[str]) -> EncodedTexts:
        """Texts as they are given to a kernel."""
        blob, offsets = encode(texts)
        table = None if self._forms is None else self._forms.table()
        settings = native.Settings(
            ngrams=1, char_shortest=0, char_longest=0, min_points=2, lowercase=True, fold_accents=self._fold_accents,
            sublinear_tf=False, idf=False, normalize=False, any_script=True, forms=table,
        )  # fmt: skip
        if self._forms is not None and table is not None:
            self._forms.learn(table, blob, offsets, settings)
        return EncodedTexts(blob, offsets, settings)
