"""What a project's configuration asks for: a tagger, of parameters that are all known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..catalog import preset
from ..core import ParameterError, shown
from ..tagger import Tagger
from ..text import Vectorizer
from ..vocabulary import Vocabulary

# What Annif itself reads in a project's section; everything else there is ours, or a mistake.
OF_ANNIF = frozenset({"access", "allow_learn", "analyzer", "backend", "language", "name", "transform", "vocab"})
# `best` by held-out rows of yso-100k: F1@5 17.2; bonsai of three trees, as omikuji's, has 15.1 there, xr-linear 13.4.
DEFAULTS = {"limit": 100, "preset": "best", "ngram": 1, "min_df": 1}
_OF_VECTORIZER = {"ngram": "ngrams", "min_df": "min_df"}  # by the names that Annif's backends have for them
_TRUE = ("1", "yes", "true", "on")  # as Annif reads them


def whole(params: Mapping[str, Any], name: str) -> int:
    """A parameter that is an integer of at least 1."""
    said = str(params[name]).strip()
    if not said.isascii() or not said.isdigit() or int(said) < 1:
        raise ParameterError(f"{name} must be an integer ≥ 1; got {shown(params[name])}")
    return int(said)


def learns(params: Mapping[str, Any]) -> bool:
    """True if the project may learn: its rows are kept then."""
    return str(params.get("allow_learn", "")).lower() in _TRUE


def untrained(
    params: Mapping[str, Any], *, analysed: bool, vocabulary: Vocabulary | None = None, threads: int | None = None
) -> Tagger:
    """As configured: `preset`, `ngram`, `min_df`, and the preset's parameters as `xtrellis train --set` has them.

    Texts that an analyzer has taken apart are words between spaces, which are taken as they are.
    """
    whole(params, "limit")
    model = preset(str(params["preset"]))
    vectorizer = Vectorizer(words="runs", min_token_length=1) if analysed else Vectorizer()
    for part in (model, vectorizer):
        if threads is not None and "threads" in part.get_params(deep=False):
            part.set_params(threads=threads)
    for name, value in params.items():
        head, _, rest = name.replace("__", ".").partition(".")
        if name in OF_ANNIF or name in ("limit", "preset"):
            continue
        if name in _OF_VECTORIZER:
            vectorizer.set_from_text(_OF_VECTORIZER[name], str(value))
        elif head == "vectorizer" and rest in _OF_VECTORIZER.values():
            short = next(key for key, long in _OF_VECTORIZER.items() if long == rest)
            raise ParameterError(f"{name}={value}: it is called {short} here, as in Annif's own backends")
        elif head == "vectorizer" and rest:
            vectorizer.set_from_text(rest, str(value))
        elif head == "threads":
            raise ParameterError(f"{name}={value}: threads are Annif's jobs here: annif-xtrellis train --jobs {value}")
        else:
            model.set_from_text(name, str(value))
    return Tagger(vectorizer, model, vocabulary=vocabulary, keep_rows=learns(params))
