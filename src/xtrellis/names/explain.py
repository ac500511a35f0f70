"""Why a text gets a label by its name, or does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..core import InputError
from ..explain import Explanation, FoundWord, NameMatch, Reason, rank_of
from ..text import Vectorizer, WordReader
from .features import FEATURES, KINDS
from .training import find

if TYPE_CHECKING:
    from .model import NameMatcher


def explain(model: NameMatcher, reader: WordReader, text: str, label: int) -> Explanation:
    """The label's name in one text, and what each feature added."""
    found = find(model.index, reader, [text])
    top = model.predict(None, max(1, len(found.labels)), texts=[text])
    rank, score = rank_of(top.labels[0], top.scores[0], label)
    at = np.flatnonzero(found.labels == label)
    matches = tuple(
        _match(model, reader, text, label, found.forms[i], int(found.kinds[i]), found.features[i]) for i in at
    )
    return Explanation(
        label=label, n_labels=model.n_labels, n_trees=0, beam=None, search="names", score=score, rank=rank,
        n_found=len(found.labels), paths=(), matches=matches,
    )  # fmt: skip


def _match(
    model: NameMatcher, reader: WordReader, text: str, label: int, form: int, kind: int, features: np.ndarray
) -> NameMatch:
    index, scorer = model.index, model.scorer
    about = scorer.label_features(np.array([kind]), np.array([label]))
    row = np.concatenate([features.astype(np.float64), about[0]])[None, :]
    functions = scorer.curves.of(kind)
    amounts = functions.parts(row)[0].tolist()
    reasons = [
        Reason(feature.name, feature.meaning, value, amount)
        for feature, value, amount in zip(FEATURES, row[0].tolist(), amounts, strict=True)
    ]
    words = _words(model, reader, text, form)
    return NameMatch(
        name=index.names[int(index.arrays["forms.name"][form])],
        whole=KINDS[kind] == "whole",
        exact=KINDS[kind] == "whole" and features[1] >= 1 and all(w.likeness == 1 for w in words if not w.qualifier),
        words=words,
        bias=functions.bias,
        reasons=tuple(sorted(reasons, key=lambda reason: -abs(reason.amount))),
        log_odds=functions.bias + sum(amounts),
    )


def _words(model: NameMatcher, reader: WordReader, text: str, form: int) -> tuple[FoundWord, ...]:
    """Where the words of a form are: the kernel counts words, people count characters."""
    index = model.index
    encoded = reader.read([text])
    numbers, positions, likeness = index.native.places(encoded.blob, encoded.settings, int(form))
    main, words = int(index.arrays["forms.main"][form]), index.words_of(int(form))
    try:
        spans = Vectorizer(stem=model.stem, fold_accents=model.fold_accents, threads=1).fit([text]).explain(text)
    except InputError:  # no words at all
        return ()
    starts, ends, _ = spans.arrays()
    order = np.lexsort((ends, starts))
    starts, ends = starts[order], ends[order]
    return tuple(
        FoundWord(words[i], int(starts[at]), int(ends[at]), like, i >= main)
        for i, at, like in zip(numbers.tolist(), positions.tolist(), likeness.tolist(), strict=True)
    )
