"""What is told of a match: the order is that of the kernel (native/names/match.hpp, score.hpp)."""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """One number of a match, what it means, and how it may count: 1 for, -1 against, 0 either way."""

    name: str
    meaning: str
    sign: int


FEATURES = (
    Feature("share", "share of the name's weight that is found", 1),
    Feature("phrase", "share of it that stands together, in the name's order", 1),
    Feature("likeness", "how like the words are to the name's", 1),
    Feature("mass", "how much the words that were found say (sum of idf)", 1),
    Feature("tokens", "words found (log)", 0),
    Feature("characters", "characters found (log)", 0),
    Feature("first", "where it is first found, in words (log)", -1),
    Feature("count", "how often it is found (log)", 1),
    Feature("words", "words of the text (log)", 0),
    Feature("ambiguity", "labels of the same name (log)", -1),
    Feature("rivals", "names that have the rarest word found (log)", -1),
    Feature("nested", "found only inside a longer name", -1),
    Feature("qualifier", "share of the qualifier that is found", 1),
    Feature("qualified", "the name has a qualifier", 0),
    Feature("prior", "how often the label was right where its name was found", 1),
    Feature("matched", "training rows that its name was found in (log)", 0),
    # Left out, a row with the label has one row less to show: only upwards, or small data would be learned by heart.
    Feature("rows", "training rows of the label (log)", 1),
    Feature("unseen", "no training row has the label", 0),
)
KINDS = ("whole", "part")  # of a name
N_FORM = next(i for i, feature in enumerate(FEATURES) if feature.name == "prior")  # the rest is about the label
N_LABEL = len(FEATURES) - N_FORM
