"""What a tagger's labels are called: by ids, which stay, and by names, which a vocabulary gives them.

Without a vocabulary a label's name is its id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..arrays import Int64, StringTable, is_list
from ..core import InputError, NotFittedError, StoreError, clear_calls, nearest, progress, shown, text
from ..data import Dataset, relabel
from ..model import LabelSet, Model, restricts
from ..vocabulary import KnownLabels, Resolved, Vocabulary

SHOWN = 4  # labels that a message names


@clear_calls
class NamesLabels:
    """The part of a tagger that knows what labels are called."""

    vocabulary: Vocabulary | None
    """Names, relations and states of labels; None: a label's name is its id."""
    language: str | None
    """The language of names that are shown, and of data that names labels; None: the vocabulary's own."""
    model: Model
    renamed: Mapping[str, str]
    """Names given to labels of the vocabulary in this tagger, by their ids."""
    _label_names: StringTable | None = None  # ids; names where there is no vocabulary
    _found: dict[str, tuple[Any, ...]]  # what was looked up of which ids and vocabulary; copies of a tagger share it

    def _know(self, vocabulary: Any, language: Any) -> None:
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            cure = ": xt.Vocabulary.read(…) reads a file" if isinstance(vocabulary, str) else ""
            raise InputError(f"vocabulary must be an xt.Vocabulary or None; got {shown(vocabulary)}{cure}")
        text(or_none=True)("language", language)
        if language is not None and vocabulary is None:
            raise InputError(f"language={language!r} is for names of a vocabulary; this tagger has none")
        if language and vocabulary is not None and not vocabulary.speaks(language):
            spoken = ", ".join(tag for tag in vocabulary.languages if tag) or "none that is said"
            raise InputError(f"the vocabulary has no names in language {language!r}; its languages: {spoken}")
        self.vocabulary, self.language, self._found = vocabulary, language, {}

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        return self._label_names is not None

    @property
    def label_ids(self) -> StringTable:
        """The labels' ids, by number: what labels are matched by. Without a vocabulary, their names."""
        if not self.fitted:
            raise NotFittedError("this Tagger is not trained yet; call fit first, or xt.load a saved one")
        return cast(StringTable, self._label_names)

    @property
    def label_names(self) -> StringTable:
        """The labels' names, by number, as they are shown; refuses to answer before training."""
        ids, vocabulary = self.label_ids, self.vocabulary
        if vocabulary is None:
            return ids
        known, own = self._found.get("names"), self.renamed
        how = (self.language, own)
        if known is None or known[0] is not ids or known[1] is not vocabulary or known[2] != how:
            numbers = self.label_numbers
            names = vocabulary.preferred_names(self.language, labels=np.maximum(numbers, 0))
            if (numbers < 0).any():  # learned beside the vocabulary
                names = StringTable.of(
                    [ids[i] if number < 0 else names[i] for i, number in enumerate(numbers.tolist())]
                )
            if own:
                names = StringTable.of([own.get(id, name) for id, name in zip(ids, names, strict=True)])
            known = self._found["names"] = (ids, vocabulary, how, names)
        return cast(StringTable, known[3])

    @property
    def label_numbers(self) -> Int64:
        """The number of each label in the vocabulary; -1 of those that it does not have."""
        ids, vocabulary = self.label_ids, self.vocabulary
        known = self._found.get("numbers")
        if known is None or known[0] is not ids or known[1] is not vocabulary:
            found = [None] * len(ids) if vocabulary is None else vocabulary.numbers(ids)
            numbers = np.array([-1 if number is None else number for number in found], np.int64)
            known = self._found["numbers"] = (ids, vocabulary, numbers)
        return cast(Int64, known[2])

    def find_label(self, label: str, *, part: bool = False) -> int:
        """The number of a label by its id or any of its names; with `part`, also by a part that only its name has.

        Refuses what it does not know, and offers the nearest.
        """
        if not isinstance(label, str):
            raise InputError(f"label must be the name of a label; got {type(label).__name__}")
        ids = self.label_ids
        found = ids.find(label)
        if found is None and self.vocabulary is not None:
            found = next((ids.find(id) for id, name in self.renamed.items() if name == label), None)
        if found is None and self.vocabulary is not None:
            found = self._by_vocabulary(self.vocabulary, label)
        if found is None and part:
            found = self._by_part(label)
        if found is None:
            raise InputError(f"the model has no label {shown(label)}{self._offer(label)}")
        return found

    def _by_vocabulary(self, vocabulary: Vocabulary, label: str) -> int | None:
        number = vocabulary.find(label, language=self.language)
        if number is None:
            return None
        last = vocabulary.successor(number)
        for known in dict.fromkeys((number, number if last is None else last)):
            found = self.label_ids.find(vocabulary.ids[known])
            if found is not None:
                return found
        id, name = vocabulary.ids[number], vocabulary.name_of(number, self.language)
        raise InputError(f"the model has not learned the label {name!r} ({id}): it is in the vocabulary, but in no row")

    def _by_part(self, part: str) -> int | None:
        wanted = part.casefold().strip()
        if not wanted:
            return None
        names = self.label_names
        some = [(i, name.casefold()) for i, name in enumerate(names)]
        if self.vocabulary is not None:
            some += [(i, id.casefold()) for i, id in enumerate(self.label_ids)]
        within = [(i, name) for i, name in some if wanted in name]
        # "p3363 birds" is what people have who write ids before names
        split = [(i, name.partition(" ")) for i, name in within]
        for chosen in (
            [i for i, (first, _, rest) in split if wanted in (first, rest)],
            [i for i, name in within if f" {wanted} " in f" {name} "],
            [i for i, _ in within],
            [] if within or self.vocabulary is None else self._by_other_names(self.vocabulary, part),
        ):
            found = list(dict.fromkeys(chosen))
            if len(found) == 1:
                return found[0]
            if found:
                listed = ", ".join(repr(self.title(i)) for i in found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
                raise InputError(f"{len(found)} labels have {shown(part)} in their names: {listed}; give more of one")
        return None

    def _by_other_names(self, vocabulary: Vocabulary, part: str) -> list[int]:
        found = [self.label_ids.find(label.id) for label in vocabulary.search(part, k=100, language=self.language)]
        return [label for label in found if label is not None]

    def _offer(self, label: str) -> str:
        if self.vocabulary is None:
            return nearest(label, self.label_ids)
        return self.vocabulary.offer(label, language=self.language)

    def title(self, label: int) -> str:
        """What a label is called, and its id where that is another thing: `birds (p3363)`."""
        name, id = self.label_names[label], self.label_ids[label]
        return name if name == id else f"{name} ({id})"

    def group_name(self, id: str) -> str:
        """What a group of a hierarchy is called, if the vocabulary has it."""
        number = None if self.vocabulary is None else self.vocabulary.number(id)
        if number is not None and id in self.renamed:
            return self.renamed[id]
        return id if number is None or self.vocabulary is None else self.vocabulary.name_of(number, self.language)

    def prepare_labels(self, labels: Any) -> LabelSet:
        """Names (or ids) of labels that `tag` and `predict` shall choose among, prepared once for many calls."""
        if isinstance(labels, LabelSet):
            return labels
        if not restricts(self.model):
            raise InputError(f"labels: a {type(self.model).__name__} cannot restrict its answers to some labels")
        if isinstance(labels, str) or not is_list(labels):
            raise InputError(f"labels must be a list of names or ids; got {shown(labels)}")
        return LabelSet(
            [self.find_label(label) if isinstance(label, str) else label for label in labels], len(self.label_ids)
        )

    def by_ids(self, dataset: Dataset) -> Dataset:
        """Data whose labels go by their ids, where there is a vocabulary; unknown ones keep their names."""
        if self.vocabulary is None or dataset.label_names is None:
            return dataset
        return self.resolved(dataset, unknown="keep").dataset

    def resolved(self, dataset: Dataset, *, unknown: str = "drop") -> Resolved:
        """Data whose labels go by the vocabulary's ids, whether it has these, names of the vocabulary, or those that
        labels were given here."""
        own = {name: id for id, name in self.renamed.items()}
        if own and dataset.label_names is not None:
            dataset = replace(dataset, label_names=StringTable.of([own.get(n, n) for n in dataset.label_names]))
        return cast(Vocabulary, self.vocabulary).resolve(dataset, language=self.language, unknown=unknown)


@dataclass(frozen=True)
class LabelsToLearn:
    """The labels of a training, by the ids of a vocabulary."""

    dataset: Dataset
    known: KnownLabels | None = None
    resolved: Resolved | None = None

    @property
    def ids(self) -> StringTable | None:
        """The labels' ids."""
        return None if self.known is None else self.dataset.label_names

    @property
    def names(self) -> StringTable | None:
        """The labels' names."""
        if self.known is None:
            return self.dataset.label_names
        return self.known.vocabulary.preferred_names(self.known.language, labels=self.known.labels)

    @property
    def texts(self) -> StringTable | None:
        """All that each label is called, for a vectoriser to read."""
        if self.known is None:
            return self.dataset.label_names
        return StringTable.of([" ".join(self.known.names_of(label)) for label in range(len(self.known))])


def labels_to_learn(tagger: NamesLabels, dataset: Dataset) -> LabelsToLearn:
    """The data set with the labels' ids for columns, in the vocabulary's order; unknown ones are dropped and told of.

    A model that goes by names can answer labels that no row has: all that are in use get a column then.
    """
    vocabulary = tagger.vocabulary
    if vocabulary is None:
        return LabelsToLearn(dataset)
    resolved = vocabulary.resolve(dataset, language=tagger.language)
    if resolved.unknown:
        progress.note(f"labels of the data: {resolved}")
    data = resolved.dataset
    met = [number for number in vocabulary.numbers(data.label_names or ()) if number is not None]
    numbers = np.unique(np.array(met, np.int64))
    if goes_by_names(tagger.model):
        numbers = np.union1d(numbers, vocabulary.active())
    ids = vocabulary.ids_of(numbers)
    data = relabel(data, list(data.label_names or ()), ids)
    return LabelsToLearn(data, KnownLabels(vocabulary, numbers, tagger.language), resolved)


def goes_by_names(model: Model) -> bool:
    """True of a model, or one with a part, that finds labels by what they are called."""
    if model.needs_label_names:
        return True
    for value in model.get_params(deep=False).values():
        parts = value if isinstance(value, (list, tuple)) else [value]
        if any(isinstance(part, Model) and goes_by_names(part) for part in parts):
            return True
    return False


def stored_vocabulary(part: Any, language: Any) -> tuple[Vocabulary | None, str | None]:
    """What a stored tagger holds of it, checked."""
    if part is not None and not isinstance(part, Vocabulary):
        raise StoreError(f"a Tagger's vocabulary must be a Vocabulary; got {type(part).__name__}")
    if not isinstance(language, str | None):
        raise StoreError(f"language must be a string; got {language!r:.80}")
    return part, language


def stored_numbers(numbers: Any, n_labels: int, vocabulary: Vocabulary) -> Int64 | None:
    """The labels' numbers in the vocabulary; they are found again if a model has none."""
    if numbers is None:
        return None
    if numbers.dtype != np.int64 or numbers.shape != (n_labels,):
        raise StoreError(f"label_numbers must be {n_labels} numbers of type int64")
    if len(numbers) and not -1 <= numbers.min() <= numbers.max() < len(vocabulary):
        raise StoreError(f"label_numbers must lie between -1 and {len(vocabulary) - 1}")
    return cast(Int64, numbers)
