"""`GivenTree`: the user's own hierarchy (a thesaurus, a taxonomy, a catalogue) as the label tree."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..core import Check, DataError, InputError, ParameterError, as_path, choice, file_path, param, shown
from ..data import LabelKnowledge
from ..labels import LabelSpace
from .base import Index
from .hierarchy import Edges, grow
from .shape import TreeLevel, levels_of
from .tree import LabelTree

MOST = 500_000  # entries of `parents`, which is written into a model's JSON; a larger hierarchy belongs in a file


class _Parents(Check):
    requirement = f"a mapping {{child: parent}} or a list of integers, of at most {MOST:,} entries (more: give a path)"

    def holds(self, value: Any) -> bool:
        if isinstance(value, Mapping):
            fits = all(
                isinstance(end, (str, numbers.Integral)) or end is None for pair in value.items() for end in pair
            )
            return len(value) <= MOST and fits
        if hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1:
            return len(value) <= MOST and np.asarray(value).dtype.kind in "iu"
        is_list = isinstance(value, (list, tuple)) and len(value) <= MOST
        return is_list and all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for v in value)

    def read(self, text: str) -> Any:
        raise ValueError(text)  # nobody types a hierarchy on a command line: that is what `path` is for


class GivenTree(Index):
    """Labels sit where the given hierarchy has them. `path` or `parents` says what it is; with neither, the vocabulary
    of the Tagger that is trained does, by what is broader than what:

    - `path`: a file with a line `child TAB parent` for each edge; an empty parent means the top. A label is written by
      its name where names are known (a Tagger or the command line trains), else by its number; whatever is not a label
      is a group of that name.
    - `parents` as a mapping `{child: parent}`: the same, from memory.
    - `parents` as integers: entry i is the node above node i, -1 for the top; nodes 0 … n_labels-1 are the labels,
      further ones groups.

    Several tops are joined under one root. A label that has children sits as one more child of its own node, so both it
    and what is below it can be found. A label without children may have several parents and then sits in several
    places; a node has one. Groups without any label below them are left out, and a node with a single child gives way
    to it. Nodes may have any number of children.
    """

    path: str | None = param(file_path(or_none=True), "a file of lines child<TAB>parent", default=None)
    parents: Any = param(_Parents(or_none=True), "the hierarchy itself: {child: parent}, or integers", default=None)
    missing: str = param(
        choice("error", "root"), "labels that the hierarchy lacks: an error, or below the root", default="error"
    )

    def build(self, labels: LabelSpace, *, seed: int) -> LabelTree:
        """The same tree for any data and seed."""
        return grow(self._edges(labels), labels.n_labels, root_the_rest=self.missing == "root")

    def expected_levels(self, labels: LabelSpace) -> list[TreeLevel]:
        """Of the tree itself: it is quickly made."""
        return levels_of(self.build(labels, seed=0))

    @property
    def needs_vectors(self) -> bool:
        """What labels look like plays no part."""
        return False

    def _edges(self, labels: LabelSpace) -> Edges:
        n_labels, names = labels.n_labels, labels.names
        if self.path is None and self.parents is None and labels.known is not None:
            return _of_vocabulary(labels.known)
        if (self.path is None) == (self.parents is None):
            which = "neither" if self.path is None else "both"
            raise ParameterError(
                f"GivenTree needs either path, a file, or parents, a hierarchy; got {which} (neither will do in a "
                "Tagger with a vocabulary)"
            )
        if self.path is not None:
            pairs = read_edges(as_path(self.path, error=DataError))
            return _resolve(pairs, n_labels, names, root_the_rest=self.missing == "root")
        if isinstance(self.parents, Mapping):
            pairs = ((str(c), "" if p is None else str(p)) for c, p in self.parents.items())
            return _resolve(pairs, n_labels, names, root_the_rest=self.missing == "root")
        given = np.asarray(self.parents)
        if len(given) < n_labels:
            raise InputError(f"parents must have an entry for each of the {n_labels} labels; got {len(given)}")
        wrong = next((v for v in (given.max(initial=0), given.min(initial=0)) if abs(int(v)) > MOST), None)
        if wrong is not None:  # told before it is cut to 64 bits
            raise InputError(f"parents must be node numbers below {len(given)}, or -1; got {shown(int(wrong))}")
        above = given.astype(np.int64)

        def show(node: int) -> str:
            return f"node {node}" if node >= n_labels else _show(node, names)

        return Edges(np.arange(len(above)), above, len(above), show)


def _of_vocabulary(known: LabelKnowledge) -> Edges:
    child, parent, ids = known.hierarchy
    cure = "take out one of these relations in the vocabulary (xtrellis vocabulary check lists all rings)"
    return Edges(child, parent, len(ids), lambda node: shown(ids[node]), ids, cure)


def _show(label: int, names: Sequence[str] | None) -> str:
    return f"label {label}" if names is None else f"label {names[label]!r}"


def _resolve(
    pairs: Iterable[tuple[str, str]], n_labels: int, names: Sequence[str] | None, *, root_the_rest: bool
) -> Edges:
    """Names and numbers as node numbers: labels keep theirs, groups follow."""
    ids = {name: i for i, name in enumerate(names if names is not None else map(str, range(n_labels)))}
    ids[""] = -1
    child, parent = [], []
    for below, above in pairs:
        if not below:
            raise InputError(f"a hierarchy's child needs a name; the one below {above!r} has none")
        child.append(ids.setdefault(below, len(ids) - 1))
        parent.append(ids.setdefault(above, len(ids) - 1))
    groups = {number: name for name, number in ids.items() if number >= n_labels}
    if names is None:
        _refuse_names(child, parent, n_labels, groups, some_will_do=root_the_rest)

    def show(node: int) -> str:
        return repr(groups[node]) if node in groups else _show(node, names)

    called = [] if names is None and not groups else [*(names or map(str, range(n_labels)))]
    called += [groups[node] for node in range(n_labels, len(ids) - 1)]
    return Edges(np.array(child, np.int64), np.array(parent, np.int64), len(ids) - 1, show, called or None)


def _refuse_names(
    child: list[int], parent: list[int], n_labels: int, groups: Mapping[int, str], *, some_will_do: bool
) -> None:
    """Labels without names go by their numbers; a hierarchy that ends in other words names labels that nobody knows."""
    inner, below = set(parent), dict.fromkeys(child)
    ends = [groups[node] for node in below if node not in inner and node in groups]
    known = sum(node < n_labels for node in {*below, *inner} - {-1})
    if ends and known < (1 if some_will_do else n_labels):
        raise InputError(
            f"the hierarchy names {len(ends)} labels, such as {ends[0]!r}, but the {n_labels} labels of this training "
            "have no names: give them with fit(…, label_names=[…]), train a Tagger, or write labels as numbers from 0"
        )


def read_edges(path: Path) -> Iterable[tuple[str, str]]:
    """`child TAB parent` a line; blank lines are skipped."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise DataError(f"the hierarchy cannot be read: {error}", path=path) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != 2 or not fields[0].strip():
            raise DataError(
                f"must be child<TAB>parent (an empty parent is the top); got {line!r:.80}", path=path, line=number
            )
        yield fields[0].strip(), fields[1].strip()
