"""What a tagger can do after it was trained: learn on, change its labels, forget, tell what has happened to it.

Every change makes new objects and puts them in place at once, and whoever is answering works on what was there when it
was asked: any number of threads may tag while one updates, and each gets the model before or after, never between.
Changes themselves wait for each other.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from threading import RLock
from typing import TYPE_CHECKING, Any

from ...arrays import StringTable
from ...core import InputError, NotFittedError, StoreError, as_path, flag, integer, shown
from ...model import Resumes
from ...store import append_to_journal, journal_line
from .drifting import Drift, drift_of
from .learning import arrived, forgotten, refreshed, require_able, updated, with_rows
from .life import Life, names_of
from .renewing import VocabularyChange, planned, renewed, shown_names
from .replaying import loaded, replayed
from .splitting import rows_of, split

if TYPE_CHECKING:
    from typing_extensions import Self

    from ...model import Estimate
    from ...vocabulary import Vocabulary
    from ..tagger import Tagger

READERS = (
    "tag", "tag_many", "predict", "named", "explain", "evaluate", "compare", "reliability", "probabilities", "cut",
    "to_state", "prepare_labels", "save",
)  # fmt: skip


class Living:
    """The part of a `Tagger` that changes after training."""

    _life: Life
    _label_names: StringTable | None
    _changing: RLock
    keep_rows: bool

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        for name in READERS:
            if name in vars(cls):
                setattr(cls, name, _of_one_moment(vars(cls)[name]))

    def __getstate__(self) -> dict[str, Any]:
        """Before training; a trained tagger goes by the store. A lock is of this process."""
        return {name: value for name, value in vars(self).items() if name != "_changing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _changing=RLock())

    # ── learning ────────────────────────────────────────────────────────────────────────────────────────────────────

    def update(
        self,
        data: Any,
        labels: Iterable[Iterable[str]] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn new rows, with labels old and new: texts and their labels, or a Dataset.

        Neighbours learn at once; of a tree, classifiers whose rows have changed by a quarter are trained again, the
        others keep their bits. New labels sit in the clusters that their rows reach. New words become further columns
        of the vectoriser; known ones weigh as before. A tagger that was not trained yet is trained, and keeps its rows.
        An update that fails leaves the tagger as it was. `checkpoint` is a folder that finished work is written to: an
        update of the same tagger with the same rows goes on from there, and ends with the same bytes.
        """
        with self._changing:
            if not self.tagger.fitted:
                self.keep_rows = True
                self.tagger.fit(data, labels, checkpoint=checkpoint)
                return self
            self._require_journal()
            require_able(self.tagger)
            folder = None if checkpoint is None else as_path(checkpoint, "checkpoint", error=StoreError)
            if folder is not None and not isinstance(self.tagger.model, Resumes):
                folder = None  # what learns in milliseconds has nothing to go on from
            self._put("update", *updated(self.tagger, arrived(self.tagger, data, labels), folder))
        return self

    def why_no_update(self) -> str | None:
        """One sentence if the tagger cannot learn on, with the cure; None if it can."""
        try:
            require_able(self.tagger)
        except InputError as error:
            return str(error)
        return None

    def estimate_update(self, data: Any, labels: Iterable[Iterable[str]] | None = None) -> Estimate:
        """What an update will take at most: as much as a training on all rows, of which it does a part."""
        require_able(self.tagger)
        learned = with_rows(self.tagger, self._life, arrived(self.tagger, data, labels))[1]
        return self.tagger.model.estimate(learned)

    def forget(self, rows: Any) -> Self:
        """Let kept rows go, by their numbers: those of the training count from 0, those of updates follow.

        Their texts and labels are gone from the tagger at once, and neighbours forget them; what classifiers learned
        from them goes when the next update trains every label that they had again.
        """
        with self._changing:
            self._require_journal()
            self._put("forget", *forgotten(self.tagger, rows))
        return self

    def refresh(self, *, checkpoint: str | os.PathLike[str] | None = None) -> Self:
        """Train again on all rows that are kept, words and all: the same as a training on them would give.

        Labels that were retired are gone then, merged ones are what they were merged into, and kept rows count anew.
        """
        with self._changing:
            self._require_journal()
            self._put("refresh", *refreshed(self.tagger, checkpoint))
        return self

    # ── labels, without training ────────────────────────────────────────────────────────────────────────────────────

    def retire(self, labels: str | Iterable[str]) -> Self:
        """Never answer these labels again, at once; search skips them, so that others take their place."""
        return self._relabel({"what": "retire", "labels": self._known(labels)})

    def restore(self, labels: str | Iterable[str]) -> Self:
        """Answer retired or merged labels again, exactly as before."""
        return self._relabel({"what": "restore", "labels": self._known(labels)})

    def rename(self, names: Mapping[str, str]) -> Self:
        """Call labels otherwise: {old: new}. A NameMatcher looks for the new name from the next update on.

        With a vocabulary, ids stay and the new name is shown and understood in this tagger, also after a newer
        vocabulary came, until it is renamed to what the vocabulary calls it; a NameMatcher goes by the vocabulary.
        """
        given: object = names
        if not isinstance(given, Mapping) or not names:
            raise InputError(f"names must be {{old: new}} for at least one label; got {shown(names)}")
        if self.tagger.vocabulary is not None and self.tagger.fitted:
            return self._relabel({"what": "rename", "shown": shown_names(self.tagger, names)})
        return self._relabel({"what": "rename", "names": dict(names)})

    def merge(self, labels: str | Iterable[str], *, into: str) -> Self:
        """Answer these labels as another one, at once: it scores what the best of them does. The next update trains it
        on the rows of all."""
        return self._relabel({"what": "merge", "labels": self._known(labels), "into": self._known([into])[0]})

    def split(
        self, label: str, into: Mapping[str, Sequence[int] | Callable[[str], bool]], *, keep: bool = False
    ) -> Self:
        """Let a label become several, by sharing out its kept rows: {name: rows or rule}.

        Rows go by their numbers (`label_rows` tells them) or by a function that says of a text whether it is meant. A
        row may go to several labels, which may be new or known; each gets at least one. Only these are learned, from
        their rows, at once. The label itself is retired, and `restore` brings it back; with `keep` it stays, for the
        rows that are given to none, and is learned again from these.
        """
        with self._changing:
            if not self.tagger.fitted:
                raise NotFittedError("this Tagger is not trained yet; call fit first, or xt.load a saved one")
            flag()("keep", keep)
            self._require_journal()
            self._put("split", *split(self.tagger, label, into, keep))
        return self

    def label_rows(self, label: str) -> dict[int, str]:
        """The kept rows that have a label: their numbers and texts (empty, where rows are features)."""
        numbers = rows_of(self.tagger, self.tagger.find_label(label))
        rows = self._life.rows
        texts = None if rows is None else rows.texts
        return {int(i): "" if texts is None else texts[int(i)] for i in numbers}

    def change_vocabulary(self, vocabulary: Vocabulary) -> Self:
        """Replace the vocabulary by a newer one, and do what it says of labels.

        What is retired there is not answered any more; what was replaced is answered as its successor, which takes over
        what was learned if it was not known; what is in use again is answered again. Ids stay. Of a tagger that goes by
        names and has kept its rows, new labels and names are found at once. `planned_change` tells all of it before.
        """
        with self._changing:
            if not self.tagger.fitted:
                raise NotFittedError("this Tagger is not trained yet: set its vocabulary")
            self._require_journal()
            self._put("vocabulary", *renewed(self.tagger, vocabulary))
        return self

    def planned_change(self, vocabulary: Vocabulary) -> VocabularyChange:
        """What `change_vocabulary` would do: labels that are retired, restored, merged, and so on."""
        return planned(self.tagger, vocabulary)

    @property
    def retired(self) -> list[str]:
        """The names of retired labels; their ids, where there is a vocabulary."""
        return [self.tagger.label_ids[int(i)] for i in self._life.retired]

    @property
    def merged(self) -> dict[str, str]:
        """Labels that are answered as others, by name; by id, where there is a vocabulary."""
        names = self.tagger.label_ids
        return {names[a]: names[b] for a, b in self._life.merged.items()}

    @property
    def renamed(self) -> Mapping[str, str]:
        """What labels of the vocabulary are called here, by their ids, where it is not what they are called there."""
        return self._life.renamed

    # ── versions ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def version(self) -> int:
        """How many changes there were since it was first trained."""
        return self._life.version

    def history(self) -> list[dict[str, Any]]:
        """What has happened to the tagger, one entry a version: what, when, by which input; the first is its training.

        Numbers of forgotten rows are told, their content is not.
        """
        life = self._life
        first = {"version": 0, "what": "train", "when": self.tagger.about.get("date")}
        if not life.entries and life.rows is not None:
            first["rows"] = len(life.rows)
        return [first, *(json.loads(json.dumps(entry)) for entry in life.entries)]

    def at_version(self, version: int) -> Tagger:
        """The tagger as it was at a version of its history; this one stays as it is.

        The first training and every change since are done again, which takes as long as they did; where only labels
        were retired, renamed and so on since, nothing is trained. Forgotten rows do not come back.
        """
        return replayed(self.tagger, version)

    def drift(self) -> Drift:
        """How far it has come from its last full training: whether a refresh is worth it."""
        return drift_of(self.tagger)

    def write_changes(self, path: str | os.PathLike[str], *, since: int) -> None:
        """Add the changes after version `since` to the journal of the model saved at `path`: a few milliseconds.

        For changes of labels, which a line says all of; after others (`update`, `split`, `forget` …) use `save`.
        """
        integer(at_least=0)("since", since)
        life = self._life
        new = life.entries[since:]
        for entry in new:
            if entry["what"] not in ("retire", "restore", "rename", "merge"):
                raise StoreError(f"version {entry['version']} ({entry['what']}) made other weights: save the tagger")
        append_to_journal(as_path(path, error=StoreError), new, known=since)

    # ── how ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def tagger(self) -> Tagger:
        """Itself, by its whole type."""
        return self  # type: ignore[return-value]

    @property
    def life(self) -> Life:
        """States of labels, kept rows, the journal."""
        return self._life

    def journal_lines(self) -> Sequence[str]:
        """For the store."""
        return self._life.lines

    def replay(self, entries: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> None:
        """From the store: what the journal says beyond the version that was saved."""
        life, names = loaded(self._life, self.tagger.label_ids, entries, lines)
        vars(self).update(_life=life, _label_names=names)

    def _known(self, labels: Any) -> list[str]:
        """Labels as the tagger knows them: by ids, where there is a vocabulary, whatever they are called here."""
        given, tagger = names_of(labels), self.tagger
        if not tagger.fitted or tagger.vocabulary is None:
            return given
        return [tagger.label_ids[tagger.find_label(name)] for name in given]

    def _relabel(self, entry: dict[str, Any]) -> Self:
        with self._changing:
            if not self.tagger.fitted:
                raise NotFittedError("this Tagger is not trained yet; call fit first, or xt.load a saved one")
            self._require_journal()
            life, names = self._life.applied(entry, self.tagger.label_ids)
            what = entry.pop("what")
            self._put(what, {"_life": life, "_label_names": names}, entry)
        return self

    def _put(self, what: str, values: dict[str, Any], entry: dict[str, Any]) -> None:
        """Everything at once, with a line in the journal."""
        life: Life = values["_life"]
        when = datetime.now(timezone.utc).isoformat(timespec="seconds")
        entry = {"version": life.version + 1, "what": what, "when": when, **entry}
        before = json.loads(life.lines[-1])["sum"] if life.lines else ""
        line = journal_line(entry, before)
        values["_life"] = replace(
            life, version=life.version + 1, entries=(*life.entries, entry), lines=(*life.lines, line)
        )
        old = dict(vars(self))  # what goes is let go after all is in place: one step for whoever looks
        vars(self).update(values)
        del old

    def _require_journal(self) -> None:
        if len(self._life.entries) != self._life.version:
            raise StoreError("the journal of this model is missing (journal.jsonl): it cannot be changed any further")


def _of_one_moment(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that looks at a tagger as it was when it was called, whatever is changed meanwhile."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **named: Any) -> Any:
        return method(self.__copy__(), *args, **named)

    return call


def explained_state(life: Life, label: int, name: str, names: StringTable) -> None:
    """Refuse to explain what is never answered, and say why it is not."""
    if label in life.merged:
        other = names[life.merged[label]]
        raise InputError(f"{shown(name)} was merged into {shown(other)}: ask for that")
    if len(life.retired) and label in set(life.retired.tolist()):
        raise InputError(
            f"{shown(name)} is retired, so no text gets it; tagger.restore([{shown(name)}]) brings it back"
        )
