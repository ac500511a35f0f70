"""`Vocabulary`: labels as things, with a stable id, names in many languages, relations and a state.

Everything lies in arrays, which are stored as they are and mapped at load: a million labels are there at once. Ids and
names are found by binary search in an order that was sorted when the vocabulary was made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array, Int32, Int64, StringTable, UInt8, is_list
from ..core import InputError, StoreError, clear_calls, flag, integer, shown, text
from ..store import Copyable, State, save
from .builder import Builder, Built
from .diff import VocabularyDiff, diff_of
from .faults import Faults, structure_faults
from .label import ALTERNATIVE, HIDDEN, NAME_KINDS, NOTATION, NOTE_KINDS, PREFERRED, Label, Note
from .lookup import by_name, close_to, containing, number_of, numbers_of
from .tables import Links, Strings, offsets_of, span, taken

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..data import Dataset
    from .resolve import Resolved


@clear_calls
class Vocabulary(Copyable):
    """Labels with ids, names by language, relations, states and notes. Nothing in it changes; `with_labels` gives
    another one.

    Made from `Label` objects, with `Vocabulary.read` from a file, or with `Vocabulary.of` from names alone.
    """

    fitted = True  # it is what it is: `pickle` and `deepcopy` go by the store

    def __init__(self, labels: Iterable[Label]) -> None:
        if not is_list(labels):
            raise InputError(
                f"a Vocabulary is made of xt.Label objects; got {shown(labels)} (Vocabulary.read reads a file, "
                "Vocabulary.of takes names)"
            )
        builder = Builder()
        for label in labels:
            if not isinstance(label, Label):
                raise InputError(f"a Vocabulary is made of xt.Label objects; got {shown(label)}")
            builder.add(Label.from_dict(label.to_dict()))
        self._take(builder.build())

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, format: str | None = None, strict: bool = False) -> Vocabulary:
        """From a file: SKOS (`.ttl`, `.nt`, `.rdf`, `.xml`, `.jsonld`), Annif's `.tsv` or `.csv`, or `.jsonl`.

        It may be compressed; `format` says what it is if its name does not: turtle, nt, xml, json-ld, tsv, csv or
        jsonl. What contradicts itself is put right and counted, see `faults`; with `strict` it is refused.
        """
        from .formats import read_file

        flag()("strict", strict)
        return cls._of_built(read_file(path, format, strict=strict))

    @classmethod
    def of(cls, names: Iterable[str], *, language: str = "") -> Vocabulary:
        """From names alone: each is the id of a label and its name, as in a model without a vocabulary."""
        text()("language", language)
        builder = Builder()
        if not is_list(names):
            raise InputError(f"names must be a list of strings; got {shown(names)}")
        for name in names:
            given: object = name
            if not isinstance(given, str) or not name.strip():
                raise InputError(f"names must be strings with something in them; got {shown(name)}")
            builder.add(Label(name.strip(), {language: name}))
        return cls._of_built(builder.build())

    @classmethod
    def _of_built(cls, built: Built) -> Vocabulary:
        made = object.__new__(cls)
        made._take(built)
        return made

    def _take(self, built: Built) -> None:
        self._use(built.arrays, built.languages, built.faults)

    def _use(self, arrays: Mapping[str, Array], languages: list[str], faults: Faults | None = None) -> None:
        """The arrays, checked for their types, sizes and ends; what is in them is checked where it is looked at."""
        arrays = dict(arrays)
        self.languages: list[str] = languages
        """Languages of names and notes; the first is that of most preferred names. "" means that none is said."""
        self.read_faults = Faults() if faults is None else faults
        """What contradicted itself in the file and was put right."""
        self.ids: StringTable = Strings.from_arrays(arrays, "ids")
        """The labels' ids, by number."""
        n = len(self.ids)
        if not n:
            raise StoreError("a vocabulary needs at least one label")
        self.id_order: Int32 = taken(arrays, "ids.order", np.int32, n)
        self.names: StringTable = Strings.from_arrays(arrays, "names")
        m = len(self.names)
        self.name_offsets: Int64 = offsets_of(arrays, "names.of", n, m)
        self.name_kinds: UInt8 = taken(arrays, "names.kinds", np.uint8, m)
        self.name_languages: Array = taken(arrays, "names.languages", np.uint16, m)
        self.name_order: Int32 = taken(arrays, "names.order", np.int32, m)
        self.broader = Links.from_arrays(arrays, "broader", n)
        self.narrower = Links.from_arrays(arrays, "narrower", n)
        self.related = Links.from_arrays(arrays, "related", n)
        self.states: UInt8 = taken(arrays, "states", np.uint8, n)
        self.replaced: Int32 = taken(arrays, "replaced", np.int32, n)
        self.notes = Strings.from_arrays(arrays, "notes")
        self.note_offsets: Int64 = offsets_of(arrays, "notes.of", n, len(self.notes))
        self.note_kinds: UInt8 = taken(arrays, "notes.kinds", np.uint8, len(self.notes))
        self.note_languages: Array = taken(arrays, "notes.languages", np.uint16, len(self.notes))
        self._arrays = arrays

    # ── looking up ──────────────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and number_of(self, id) is not None

    def __iter__(self) -> Iterator[Label]:
        return map(self._label, range(len(self)))

    def __getitem__(self, label: int | str) -> Label:
        """A label by its number or its id."""
        if isinstance(label, str):
            return self._label(self.require(label))
        integer(at_least=0, at_most=len(self) - 1)("label", label)
        return self._label(int(label))

    def number(self, id: str) -> int | None:
        """The number of the label with this very id; None if there is none."""
        return number_of(self, id)

    def numbers(self, ids: Iterable[str]) -> list[int | None]:
        """As `number`, of many."""
        return numbers_of(self, list(ids))

    def ids_of(self, numbers: Array) -> StringTable:
        """The ids of some labels, as a table."""
        return Strings(self.ids.text, self.ids.offsets).select(np.asarray(numbers, np.int64))

    def speaks(self, language: str) -> bool:
        """True if there are names in this language, or a near one: `en` and `en-gb`."""
        return any(self._same_language(tag, language) for tag in self.languages if tag)

    def find(self, label: str, *, language: str | None = None) -> int | None:
        """The number of a label by its id or any of its names, whatever their case; None if there is none.

        Of several labels with the name, an active one is meant, one that is called so in `language`, that is spelt
        just so, whose preferred name it is, in this order. If several are left, that is an error that names them.
        """
        found = self.matches(label, language=language)
        if len(found) > 1:
            some = ", ".join(shown(self.ids[number]) for number in found[:4]) + (", …" if len(found) > 4 else "")
            raise InputError(f"{len(found)} labels are called {shown(label)}: {some}; name the one you mean by its id")
        return found[0] if found else None

    def matches(self, label: str, *, language: str | None = None) -> list[int]:
        """Numbers of the labels that `find` would choose among: one, several that it cannot tell apart, or none."""
        text()("label", label)
        text(or_none=True)("language", language)
        found = number_of(self, label)
        if found is None and label.startswith("<") and label.endswith(">"):
            found = number_of(self, label[1:-1])
        return [found] if found is not None else by_name(self, label, language)

    def search(self, part: str, *, k: int = 10, language: str | None = None) -> list[Label]:
        """Labels that have this in their id or one of their names, those that begin with it first."""
        text()("part", part)
        text(or_none=True)("language", language)
        integer(at_least=1)("k", k)
        return [self._label(number) for number in containing(self, part, k, language)]

    def require(self, label: str, *, language: str | None = None) -> int:
        """As `find`; an unknown label is an error that offers the nearest."""
        found = self.find(label, language=language)
        if found is None:
            raise InputError(f"the vocabulary has no label {shown(label)}{self.offer(label, language=language)}")
        return found

    def offer(self, label: str, *, language: str | None = None) -> str:
        """The end of a sentence that refuses a label: `; did you mean 'birds' (p3363)?`, or nothing."""
        near = close_to(self, label, language)
        if near is None:
            return f"; it has {len(self):,} labels, none of them called alike"
        id, name = self.ids[near], self.name_of(near, language)
        return f"; did you mean {name!r}{'' if name == id else f' ({id})'}?"

    # ── one label ───────────────────────────────────────────────────────────────────────────────────────────────────

    def name_of(self, number: int, language: str | None = None) -> str:
        """The preferred name of a label: in this language, without one, in the vocabulary's own, in any; else its id.

        `en` stands for `en-gb` too, and the other way round.
        """
        begin, end = span(self.name_offsets, number, len(self.names))
        ranks = self._language_ranks(language)
        best, place = None, -1
        for i in range(begin, end):
            if self.name_kinds[i] != PREFERRED:
                break  # they come first
            rank = ranks[min(int(self.name_languages[i]), len(ranks) - 1)]
            if best is None or rank < best:
                best, place = rank, i
        return self.ids[number] if place < 0 else self.names[place]

    def names_of(self, number: int, language: str | None = None, *, notation: bool = False) -> list[str]:
        """All names of a label, preferred ones first; of one language, if given, those without a language too."""
        begin, end = span(self.name_offsets, number, len(self.names))
        kinds, languages = self.name_kinds[begin:end], self.name_languages[begin:end]
        wanted = kinds < NOTATION if not notation else kinds <= NOTATION
        if language is not None:
            own = [self._same_language(tag, language) or not tag for tag in self.languages]
            fits = np.array([*own, False])[np.minimum(languages, len(own))]
            wanted = wanted & fits if (wanted & fits).any() else wanted
        places = (begin + np.flatnonzero(wanted)).tolist()
        return list(dict.fromkeys(self.names[i] for i in places))

    def _label(self, number: int) -> Label:
        begin, end = span(self.name_offsets, number, len(self.names))
        found: list[dict[str, list[str]]] = [{} for _ in NAME_KINDS]
        for i in range(begin, end):
            kind = int(self.name_kinds[i])
            if kind >= len(NAME_KINDS):
                raise StoreError(f"a name of label {number} is of no kind; the vocabulary is damaged")
            language = "" if kind == NOTATION else self._tag(self.name_languages[i])
            found[kind].setdefault(language, []).append(self.names[i])
        first, last = span(self.note_offsets, number, len(self.notes))
        notes = []
        for i in range(first, last):
            kind = int(self.note_kinds[i])
            if kind >= len(NOTE_KINDS):
                raise StoreError(f"a note of label {number} is of no kind; the vocabulary is damaged")
            notes.append(Note(self.notes[i], NOTE_KINDS[kind], self._tag(self.note_languages[i])))
        successor = self._replaced_by(number)
        return Label(
            id=self.ids[number],
            names={language: some[0] for language, some in found[PREFERRED].items()},
            alternative={language: tuple(some) for language, some in found[ALTERNATIVE].items()},
            hidden={language: tuple(some) for language, some in found[HIDDEN].items()},
            notation=tuple(name for some in found[NOTATION].values() for name in some),
            broader=tuple(self.ids[i] for i in self.broader[number]),
            narrower=tuple(self.ids[i] for i in self.narrower[number]),
            related=tuple(self.ids[i] for i in self.related[number]),
            state="active" if self.is_active(number) else "retired" if successor is None else "replaced",
            replaced_by=None if successor is None else self.ids[successor],
            notes=tuple(notes),
        )

    def _tag(self, language: Any) -> str:
        if int(language) >= len(self.languages):
            raise StoreError(
                f"a name is in language {int(language)} of {len(self.languages)}; the vocabulary is damaged"
            )
        return self.languages[int(language)]

    def is_active(self, number: int) -> bool:
        """True of a label that is in use."""
        return not self.states[number]

    def _replaced_by(self, number: int) -> int | None:
        found = int(self.replaced[number])
        if found >= len(self):
            raise StoreError(f"label {number} is replaced by one that does not exist; the vocabulary is damaged")
        return found if found >= 0 else None

    def successor(self, number: int) -> int | None:
        """The active label that stands for this one: itself, or what it was replaced by, at however many removes."""
        met = set()
        at: int | None = number
        while at is not None and not self.is_active(at):
            if at in met:
                return None  # they replace each other
            met.add(at)
            at = self._replaced_by(at)
        return at

    # ── all labels ──────────────────────────────────────────────────────────────────────────────────────────────────

    def preferred_places(self, language: str | None = None) -> Int64:
        """Of each label the place of its preferred name among `names`; -1 if it has none. See `name_of`."""
        ranks = np.array(self._language_ranks(language), np.int32)
        usable = np.flatnonzero(self.name_kinds == PREFERRED)
        of = self.label_of_names()[usable]  # ascends
        out = np.full(len(self), -1, np.int64)
        if len(usable):
            rank = ranks[np.minimum(self.name_languages[usable], len(ranks) - 1)]
            begins = np.flatnonzero(np.diff(of, prepend=-1))
            best = np.repeat(np.minimum.reduceat(rank, begins), np.diff(begins, append=len(of)))
            chosen = np.flatnonzero(rank == best)[::-1]  # of several, the first is written last
            out[of[chosen]] = usable[chosen]
        return out

    def label_of_names(self) -> Int64:
        """The label of each name."""
        lengths = np.diff(self.name_offsets)
        if (lengths < 0).any():
            raise StoreError("names lie outside their array; the vocabulary is damaged")
        return np.repeat(np.arange(len(self), dtype=np.int64), lengths)

    def preferred_names(self, language: str | None = None, *, labels: Array | None = None) -> StringTable:
        """The preferred name of every label, or of some by number; ids where there is none."""
        text(or_none=True)("language", language)
        places = self.preferred_places(language)
        wanted = np.arange(len(self)) if labels is None else np.asarray(labels)
        chosen = places[wanted]
        if not len(self.names):
            return Strings(self.ids.text, self.ids.offsets).select(wanted)
        named = Strings(self.names.text, self.names.offsets).select(chosen)
        bare = np.flatnonzero(chosen < 0)
        if not len(bare):
            return named
        listed = list(named)
        for i in bare.tolist():
            listed[i] = self.ids[int(wanted[i])]
        return StringTable.of(listed)

    def active(self) -> Int64:
        """Numbers of the labels in use."""
        return np.flatnonzero(self.states == 0)

    @staticmethod
    def _same_language(tag: str, language: str) -> bool:
        """`en` is spoken where `en-gb` is, and the other way round."""
        language = language.lower()
        return tag == language or tag.partition("-")[0] == language or tag == language.partition("-")[0]

    def _language_ranks(self, language: str | None) -> list[int]:
        """How soon a name in each language is shown; one more, for what a damaged file may hold."""
        wanted = (language or "").lower()
        return [
            -3 if wanted and tag == wanted
            else -2 if wanted and self._same_language(tag, wanted)
            else -1 if not tag
            else i
            for i, tag in enumerate(self.languages)
        ] + [len(self.languages)]  # fmt: skip

    # ── as a whole ──────────────────────────────────────────────────────────────────────────────────────────────────

    def with_labels(self, labels: Iterable[Label]) -> Vocabulary:
        """Another vocabulary in which these stand in place of those with the same ids, or are added."""
        given = {label.id: label for label in labels}
        kept = [given.pop(label.id, label) for label in self]
        return Vocabulary([*kept, *given.values()])

    def check(self) -> Faults:
        """All that is wrong or odd: what was put right when it was read, rings, ids and names that are alike."""
        found = Faults()
        found.join(self.read_faults)
        found.join(structure_faults(self))
        return found

    def diff(self, other: Vocabulary) -> VocabularyDiff:
        """What `other`, a later version, has that is different: labels by id."""
        if not isinstance(other, Vocabulary):
            raise InputError(f"other must be an xt.Vocabulary; got {shown(other)}")
        return diff_of(self, other)

    def resolve(self, dataset: Dataset, *, language: str | None = None, unknown: str = "drop") -> Resolved:
        """A data set whose labels go by their ids, whatever it called them, and which of them are not known.

        Labels that were replaced become their successors. Those that nobody knows, or that mean several labels, or are
        out of use, are dropped and listed; with unknown="keep" they keep their names.
        """
        from .resolve import resolve

        return resolve(self, dataset, language=language, unknown=unknown)

    def write(self, path: str | os.PathLike[str], *, language: str | None = None) -> None:
        """To a file: `.jsonl` keeps everything; Annif's `.tsv` ids and names in one language, `.csv` in all."""
        from .formats import write_file

        write_file(self, path, language)

    def save(self, path: str | os.PathLike[str]) -> None:
        """As a folder that `xt.load` maps into memory: whole or not at all."""
        save(self, path)

    def to_state(self) -> State:
        """For the store: the arrays as they are."""
        return State(meta={"languages": list(self.languages)}, arrays=dict(self._arrays))

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store, without looking through the arrays."""
        languages = state.meta.get("languages")
        if not isinstance(languages, list) or not all(isinstance(tag, str) for tag in languages):
            raise StoreError(f"languages must be a list of strings; got {languages!r:.80}")
        made = object.__new__(cls)
        made._use(state.arrays, languages)
        return made

    def __deepcopy__(self, memo: object) -> Vocabulary:
        """Itself: nothing ever changes it."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        same = self.languages == other.languages and self._arrays.keys() == other._arrays.keys()
        return same and all(np.array_equal(self._arrays[name], other._arrays[name]) for name in self._arrays)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown_languages = ", ".join(tag or "none said" for tag in self.languages[:5])
        more = f" and {len(self.languages) - 5} more" if len(self.languages) > 5 else ""
        spoken = f", languages: {shown_languages}{more}" if self.languages else ""
        return f"Vocabulary({len(self):,} labels, {len(self.names):,} names{spoken})"
