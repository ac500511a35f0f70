"""A small vocabulary with a bit of everything."""

from __future__ import annotations

import xtrellis as xt
from xtrellis.vocabulary import Note

BIRDS = [
    xt.Label("p1", {"en": "animals", "fi": "eläimet"}),
    xt.Label(
        "p2", {"en": "birds", "fi": "linnut"}, {"en": ("fowl",), "la": ("aves",)}, {"en": ("brids",)}, ("598",),
        broader=("p1",), related=("p5",), notes=(Note("with feathers", "definition", "en"),),
    ),
    xt.Label("p3", {"en": "owls", "fi": "pöllöt"}, broader=("p2",)),
    xt.Label("p4", {"en": "eagles", "fi": "kotkat"}, broader=("p2",)),
    xt.Label("p5", {"en": "feathers"}),
    xt.Label("p6", {"en": "night birds"}, state="replaced", replaced_by="p3"),
    xt.Label("p7", {"en": "dragons"}, state="retired"),
    xt.Label("p8", {"en": "Mercury"}, {"fi": ("elohopea",)}),
    xt.Label("p9", {"en": "mercury (planet)", "fi": "Merkurius"}, {"en": ("Mercury",)}),
]  # fmt: skip


def birds() -> xt.Vocabulary:
    return xt.Vocabulary(BIRDS)
