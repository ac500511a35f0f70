"""What a name that is not known was probably meant to be: a name from elsewhere, one of a part, or one misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from .errors import nearest

# What parameters are called in other libraries that people come from, scikit-learn first of all.
_ELSEWHERE = {
    "C": ("cost",), "n_jobs": ("threads",), "random_state": ("seed",), "class_weight": ("positive_weight",),
    "tol": ("tolerance",), "max_iter": ("max_epochs", "epochs"), "n_estimators": ("n_trees",),
    "estimators": ("models",), "estimator": ("base", "model"), "ngram_range": ("ngrams",), "lr": ("learning_rate",),
    "analyzer": ("char_ngrams",), "norm": ("normalize",), "beam_size": ("beam",), "nr_splits": ("arity",),
    "y": ("Y", "labels"), "labels": ("Y",), "top_k": ("k",), "n_threads": ("threads",), "num_threads": ("threads",),
    "filename": ("path",), "file": ("path",), "sep": ("label_separator",), "sample_weights": ("sample_weight",),
}  # fmt: skip
CLOSE = 0.6  # of a part's parameters, of which there are many, only such as are spelt much like it


def known_as(name: str, valid: Collection[str]) -> str | None:
    """What `name` of another library is called here, if it is among the valid names."""
    return next((ours for ours in _ELSEWHERE.get(name, ()) if ours in valid), None)


def meant(name: str, valid: Collection[str]) -> str:
    """The end of a sentence that refuses `name`: `; did you mean 'beam'?`, or what it is called here."""
    here = known_as(name, valid)
    if here is None and name in _ELSEWHERE and "model" in valid:
        return f"; models have it, by the name {_ELSEWHERE[name][0]!r}: model=xt.preset(…, {_ELSEWHERE[name][0]}=…)"
    return nearest(name, valid) if here is None else f"; here it is called {here!r}"


def in_parts(name: str, inner: Collection[str], valid: Collection[str]) -> str | None:
    """The one of `inner` (`index__arity`) that is meant by `name`, unless one of the `valid` names is nearer.

    Of several the least deep: `beam` of a re-ranked model is its base's, not that of the base's overlap.
    """
    last: dict[str, str] = {}
    for path in sorted(inner, key=lambda path: path.count("__")):
        last.setdefault(path.rpartition("__")[2], path)
    here = known_as(name, last)
    if name in last or here is not None:
        return last[here if here is not None else name]
    close = difflib.get_close_matches(name, [*valid, *last], n=1, cutoff=CLOSE)
    return last[close[0]] if close and close[0] not in valid else None
