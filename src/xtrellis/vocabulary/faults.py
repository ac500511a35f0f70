"""What is wrong with a vocabulary: found when it is read or looked through, told with the label and the cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import shown
from .label import PREFERRED
from .words import folded

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

MOST = 1000  # faults of one kind that are listed; the rest are counted
ERRORS = ("two names", "ring", "unknown label", "replaced by unknown")  # the others are worth a look, and may be meant


class Fault(NamedTuple):
    """One thing that is wrong: its kind, the id of the label, and a sentence."""

    kind: str
    id: str
    message: str

    @property
    def error(self) -> bool:
        """True of what contradicts itself; False of what is odd but may be meant."""
        return self.kind in ERRORS


class Faults(list[Fault]):
    """Faults in the order in which they were found; of each kind the first are kept, all are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def add(self, kind: str, id: str, message: str) -> None:
        """One more."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= MOST:
            self.append(Fault(kind, id, message))

    def join(self, others: Faults) -> None:
        """With all of somebody else's."""
        self.extend(others)
        for kind, count in others.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count

    @property
    def n_errors(self) -> int:
        """How many contradict themselves."""
        return sum(count for kind, count in self.counts.items() if kind in ERRORS)

    def summary(self) -> str:
        """`2 two names, 1 ring`."""
        return ", ".join(f"{count:,} × {kind}" for kind, count in self.counts.items())

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"counts": dict(self.counts), "faults": [fault._asdict() for fault in self]}


def structure_faults(vocabulary: Vocabulary) -> Faults:
    """What can be seen in the vocabulary itself: rings, ids and names that are alike, labels without a name."""
    found = Faults()
    ids = vocabulary.ids
    for ring in rings(vocabulary):
        way = " → ".join(shown(ids[label]) for label in [*ring[:5], *(ring[:1] if len(ring) <= 5 else [])])
        more = f" → … ({len(ring)} labels)" if len(ring) > 5 else ""
        found.add("ring", ids[ring[0]], f"broader runs in a ring: {way}{more}; remove one of these relations")
    _alike_ids(vocabulary, found)
    _shared_names(vocabulary, found)
    first = vocabulary.preferred_places()
    for label in np.flatnonzero(first < 0).tolist():
        found.add("no name", ids[label], f"{shown(ids[label])} has no preferred name; it is shown by its id")
    _successors(vocabulary, found)
    return found


def rings(vocabulary: Vocabulary) -> list[list[int]]:
    """Labels that are broader than themselves, ring by ring; one for each knot of rings."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(vocabulary)
    below, above = vocabulary.broader.pairs()
    own = np.unique(below[below == above])
    out = [[label] for label in own.tolist()]
    graph = csr_array((np.ones(len(below), np.int8), (below, above)), shape=(n, n))
    count, part = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(part, minlength=count)
    for component in np.flatnonzero(sizes > 1).tolist():
        members = set(np.flatnonzero(part == component).tolist())
        out.append(_ring_in(vocabulary, members))
    return sorted(out)


def _ring_in(vocabulary: Vocabulary, members: set[int]) -> list[int]:
    """A way up within a strongly connected part, until it meets itself."""
    way = [min(members)]
    at = {way[0]: 0}
    while True:
        following = next(label for label in vocabulary.broader[way[-1]] if label in members and label != way[-1])
        if following in at:
            return way[at[following] :]
        at[following] = len(way)
        way.append(following)


def _alike_ids(vocabulary: Vocabulary, found: Faults) -> None:
    seen: dict[str, str] = {}
    for id in vocabulary.ids:
        other = seen.setdefault(id.casefold(), id)
        if other != id:
            found.add(
                "ids alike", id, f"{shown(id)} and {shown(other)} differ in case only; many programs take them for one"
            )


def _shared_names(vocabulary: Vocabulary, found: Faults) -> None:
    """Preferred names that two active labels share in one language: data that names them so means either."""
    names, of = vocabulary.names, vocabulary.label_of_names()
    chosen = np.flatnonzero((vocabulary.name_kinds == PREFERRED) & (vocabulary.states[of] == 0))
    seen: dict[tuple[int, str], int] = {}
    for place in chosen.tolist():
        key = int(vocabulary.name_languages[place]), folded(names[place])
        other = seen.setdefault(key, int(of[place]))
        if other != of[place]:
            mine, theirs = vocabulary.ids[int(of[place])], vocabulary.ids[other]
            found.add(
                "shared name", mine,
                f"{shown(mine)} and {shown(theirs)} are both called {shown(names[place])}; data must name them by id",
            )  # fmt: skip


def _successors(vocabulary: Vocabulary, found: Faults) -> None:
    """Labels that are replaced by each other, or by one that is out of use itself and has no successor."""
    for label in np.flatnonzero(vocabulary.replaced >= 0).tolist():
        last = vocabulary.successor(label)
        if last is None:
            id = vocabulary.ids[label]
            found.add(
                "no successor", id, f"{shown(id)} is replaced by labels that are out of use themselves, or each other"
            )
