"""What words become before they are counted: their stems by a language's rules, or nothing at all (stop words).

The kernels know a table of words and what each becomes (native/text/forms.hpp). A stemmer written in Python takes a
tenth of a millisecond for a word, so each word is given to it once: those that a block of texts has and the table lacks
are looked for first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from .._native import text as native
from ..arrays import Int64, StringTable
from ..core import MissingExtraError, ParameterError

# Of snowballstemmer 3; an older one may lack some.
STEMMERS = (
    "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian",
    "nepali", "norwegian", "persian", "polish", "porter", "portuguese", "romanian", "russian", "serbian", "sesotho",
    "spanish", "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip
MOST_WORDS = 1 << 20  # that are remembered; a server may meet any number of them


class Forms:
    """Stop words, and stems by a language's rules; made once for a vectoriser, shared by its copies and threads."""

    def __init__(self, stem: str | None, stop_words: Iterable[str]) -> None:
        self._stop_words = tuple(stop_words)
        self._stem = stem
        self._stemmer = None if stem is None else stemmer(stem)
        self._lock = threading.Lock()  # a stemmer keeps its place in the word, so one thread uses it at a time
        self._table = self._new_table()

    def _new_table(self) -> native.Forms:
        table = native.Forms()
        _add(table, self._stop_words, [""] * len(self._stop_words))
        return table

    def table(self) -> native.Forms:
        """For `native.Settings`; a new one where the last has grown large (those who use that keep it)."""
        if len(self._table) > MOST_WORDS:
            self._table = self._new_table()
        return self._table

    def learn(self, table: native.Forms, blob: bytes, offsets: Int64, settings: native.Settings) -> None:
        """Find what the words of some texts become, as far as `table` does not know it yet."""
        if self._stemmer is None or len(table.unknown(blob, offsets, settings)[1]) == 1:
            return
        with self._lock:  # another thread may have found the same words in the meantime
            words = StringTable(*table.unknown(blob, offsets, settings))
            found = list(words)
            # A stem is never empty: what is left of a word is a word.
            _add(table, found, [self._stemmer.stemWord(word) or word for word in found])

    def __deepcopy__(self, memo: object) -> Forms:
        """Itself: it depends on nothing but its parameters."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Forms, (self._stem, self._stop_words)


def _add(table: native.Forms, words: Iterable[str], forms: Iterable[str]) -> None:
    given, become = StringTable.of(list(words)), StringTable.of(list(forms))
    table.add(given.text.tobytes(), given.offsets, become.text.tobytes(), become.offsets)


def stemmer(language: str) -> Any:
    """Of the snowballstemmer library."""
    try:
        import snowballstemmer
    except ImportError:
        raise MissingExtraError("snowballstemmer", "stem", f"stem={language!r}") from None
    try:
        return snowballstemmer.stemmer(language)
    except KeyError:
        known = ", ".join(sorted(snowballstemmer.algorithms()))
        raise ParameterError(
            f"the installed snowballstemmer has no stemmer for {language!r}; it has {known}; a newer one may have it"
        ) from None
