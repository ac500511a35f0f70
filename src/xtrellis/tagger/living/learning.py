"""Learning on, forgetting, training anew: what these make of a tagger, as the attributes that it will have."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...arrays import Csr, Int64, StringTable, TopK, as_features, as_integers, as_texts, assemble, take_rows
from ...core import InputError, progress, shown
from ...data import Dataset, TrainingData, labels_from_pairs
from ...metrics import evaluate
from ...model import Forgets, Model, Updates, needs_all_rows, why_no_update
from ...text import Vectorizer
from ...vocabulary import KnownLabels
from ..given import label_matrix
from .life import NONE, Life
from .rows import KeptRows

if TYPE_CHECKING:
    from ..tagger import Tagger

NO_ROWS = (
    "this tagger has kept no training rows to learn on from: train it with xt.Tagger(vectorizer, model, "
    "keep_rows=True) or `xtrellis train --keep-rows`"
)
MEASURED, MEASURED_AT = ("P@1", "P@5"), 5
FEWEST, ENOUGH = 20, 250  # rows that tell how good the model was before it learned them


@dataclass(frozen=True)
class Arrived:
    """Rows to learn, checked; `labels` has a column for each label of the tagger and then for each new one."""

    texts: Sequence[str] | None
    X: Csr  # by the vectoriser
    vectorizer: Vectorizer | None  # that knows the words of these texts too
    labels: Csr
    new: tuple[str, ...]
    given: Dataset

    @property
    def fingerprint(self) -> str:
        """Of all that was given."""
        digest = hashlib.blake2b(digest_size=16)
        for text in self.texts or ():
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        matrices = (self.labels,) if self.texts is not None else (self.X, self.labels)
        for matrix in matrices:
            digest.update(matrix.indptr.tobytes() + matrix.indices.tobytes() + matrix.data.tobytes())
        for name in self.new:
            digest.update(name.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()


def begun(tagger: Tagger, data: Any) -> Life:
    """After a training on prepared data."""
    if not tagger.keep_rows:
        return Life()
    X = None if data.vectorizer is not None else data.X
    rows = KeptRows.of(data.texts if data.vectorizer is not None else None, X, data.Y, data.names)
    return Life(rows=rows, number=np.arange(len(data.names)))


def arrived(tagger: Tagger, data: Any, labels: Any) -> Arrived:
    """Rows as users give them: texts and their labels, or a Dataset. Refused before anything is changed."""
    vectorizer, known = tagger.vectorizer, tagger.label_ids
    if not isinstance(data, Dataset):
        tagger.require_vectorizer()
        texts = as_texts(data)
        if not len(texts):
            raise InputError("an update needs at least one row; got none")
        names, Y = label_matrix(labels, len(texts))
        data = Dataset(None, Y, texts=list(texts), label_names=names)
    elif labels is not None:
        raise InputError("a Dataset holds its labels itself; give none beside it")
    data = _by_ids(tagger, data)  # rows of which no label is known go here
    if not data.n_rows:
        raise InputError("an update needs at least one row; got none")
    if vectorizer is not None and data.texts is None:
        raise InputError("this tagger reads texts, but the rows have none")
    if vectorizer is None:
        if data.X is None:
            raise InputError("the rows have texts only, but this model was trained on a feature matrix")
        tagger.require_features(data.feature_names)
        X = as_features(data.X, n_features=_n_features(tagger))
    else:
        vectorizer, X = words_learned(tagger, data.texts or [])
    given = data.label_names or StringTable.of(map(str, range(data.n_labels)))
    met = np.flatnonzero(np.bincount(data.Y.indices, minlength=data.n_labels))
    ids = np.full(data.n_labels, -1, np.int64)
    new: list[str] = []
    called_here: Sequence[str] = list(given) if 4 * len(met) > len(given) else given  # all at once is quicker
    for column in met.tolist():
        found = known.find(called_here[column])
        if found is None:
            found = len(known) + len(new)
            new.append(called_here[column])
        ids[column] = found
    rows = np.repeat(np.arange(data.n_rows), np.diff(data.Y.indptr))
    Y = labels_from_pairs(rows, ids[data.Y.indices], (data.n_rows, len(known) + len(new)))
    silent = int((np.diff(X.indptr) == 0).sum())
    if silent == data.n_rows and not tagger.model.reads_texts:
        raise InputError(
            f"these {data.n_rows} texts have no word that the model knows or could learn"
            if vectorizer is not None
            else f"none of these {data.n_rows} rows has a feature"
        )
    if silent:
        progress.note(f"{silent} of {data.n_rows} rows have no word that the model knows: trees learn little from them")
    return Arrived(data.texts, X, vectorizer, Y, tuple(new), data)


def words_learned(tagger: Tagger, texts: Sequence[str]) -> tuple[Vectorizer, Csr]:
    """The vectoriser with columns for the words of some more texts, and these as rows."""
    before, rows = tagger.require_vectorizer(), tagger.life.rows
    kept = rows.texts if rows is not None and before.drops_features else None
    others: list[str] = [] if rows is None or kept is None else [kept[i] for i in rows.living.tolist()]
    vectorizer = before.grown(texts, tagger.n_rows + len(texts), others)
    return vectorizer, vectorizer.transform(texts)


def _by_ids(tagger: Tagger, data: Dataset) -> Dataset:
    """With a vocabulary, labels by their ids; what it does not have is left out and told of, as in training."""
    if tagger.vocabulary is None or data.label_names is None:
        return data
    resolved = tagger.resolved(data)
    if resolved.unknown:
        progress.note(f"labels of the rows: {resolved}")
    return resolved.dataset


def _n_features(tagger: Tagger) -> int | None:
    rows = tagger.life.rows
    return None if rows is None or rows.X is None else int(rows.X.shape[1])


def with_rows(tagger: Tagger, life: Life, new: Arrived) -> tuple[Life, TrainingData, Int64]:
    """(what is kept then, what the model learns from, which of its rows are new)."""
    n_labels = int(new.labels.shape[1])
    names = tagger.label_ids.and_these(new.new)
    rows = life.rows
    if rows is None:
        data = TrainingData.of(new.X, new.labels, texts=new.texts, **called(tagger, names))
        return life, data, np.arange(data.n_rows)
    key_of = np.full(n_labels, -1, np.int64)
    known = np.flatnonzero(life.number >= 0)[::-1]
    key_of[life.number[known]] = known  # of several, the first
    added = np.arange(n_labels - len(new.new), n_labels)
    lost = np.setdiff1d(np.flatnonzero(key_of < 0), added)  # labels that no kept row ever had a key for
    fresh = [*(names[int(i)] for i in lost), *new.new]
    ids = np.concatenate([lost, added])
    key_of[ids] = len(rows.keys) + np.arange(len(ids))
    rows.features(tagger.vectorizer)  # made once, and handed on from update to update
    rows = rows.seen_by(new.vectorizer)
    rows = rows.and_these(new.texts, new.X, new.labels, key_of, fresh, life.version + 1)
    life = replace(life, rows=rows, number=np.concatenate([life.number, ids]).astype(np.int64))
    return life, *training_data(tagger, life, names, life.version + 1, new.vectorizer)


def called(tagger: Tagger, ids: StringTable) -> dict[str, Any]:
    """What a model is told of labels: their names, and with a vocabulary all that it knows of them."""
    vocabulary = tagger.vocabulary
    if vocabulary is None:
        return {"label_names": ids}
    places = np.array([-1 if number is None else number for number in vocabulary.numbers(ids)], np.int64)
    known = KnownLabels(vocabulary, places, tagger.language, ids)
    return {"label_names": known.preferred_names, "known": known}


def training_data(
    tagger: Tagger, life: Life, names: StringTable, version: int, vectorizer: Vectorizer | None = None
) -> tuple[TrainingData, Int64]:
    """All kept rows as a model learns from them, and which of them came with a version."""
    rows = cast(KeptRows, life.rows)
    living = rows.living
    X, Y = rows.features(vectorizer or tagger.vectorizer), life.matrix(len(names))
    texts = None
    if rows.texts is not None and tagger.model.reads_texts:
        texts = rows.texts.some(living.tolist())
    if len(living) < len(rows):
        X, Y = take_rows(X, living), take_rows(Y, living)
    data = TrainingData.of(X, Y, texts=texts, **called(tagger, names))
    return data, np.flatnonzero(rows.since[living] == version)


def require_able(tagger: Tagger) -> None:
    """Refuse what cannot learn on, before any work."""
    why = why_no_update(tagger.model)
    if why is not None:
        raise InputError(why)
    if tagger.life.rows is None and needs_all_rows(tagger.model):
        raise InputError(NO_ROWS)


def updated(tagger: Tagger, new: Arrived, checkpoint: Path | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """(attributes, what the journal says)."""
    life, data, fresh = with_rows(tagger, tagger.life, new)
    measured = _measured(tagger, new)
    model = cast(Updates, tagger.model).updated(data, fresh, life.again, checkpoint)
    model._checkpoint = checkpoint
    counts = data.label_counts
    if life.rows is None:
        before = np.pad(cast(Int64, tagger.label_counts), (0, len(new.new)))
        counts = before + np.bincount(new.labels.indices, minlength=len(before))
    values = {
        "model": model, "label_counts": counts.astype(np.int64), "vectorizer": new.vectorizer,
        "_label_names": tagger.label_ids.and_these(new.new),
        "n_rows": tagger.n_rows + len(fresh) if life.rows is None else data.n_rows, "_life": replace(life, again=NONE),
    }  # fmt: skip
    entry: dict[str, Any] = {"rows": len(fresh), "new labels": len(new.new), "input": new.fingerprint}
    if new.vectorizer is not None:
        entry["new words"] = new.vectorizer.n_features - tagger.require_vectorizer().n_features
    if measured is not None:
        entry["measured rows"], entry["precision before"] = measured
    return values, entry


def _measured(tagger: Tagger, new: Arrived) -> tuple[int, dict[str, float]] | None:
    """How good the tagger is on rows that it has not learned yet, and on how many, if these are enough to tell.

    By labels that it knows, on rows that have such: that labels are new is no fault of what was learned.
    """
    n_known = len(tagger.label_ids)
    known = _with_columns(new.labels, n_known)
    some = np.flatnonzero(np.diff(known.indptr))[:ENOUGH]
    if len(some) < FEWEST:
        return None
    rows = take_rows(new.X, some) if new.texts is None else [new.texts[i] for i in some.tolist()]
    top = tagger.predict(rows, MEASURED_AT)
    scores = evaluate(take_rows(known, some), TopK(top.labels, top.scores, n_known), list(MEASURED))
    return len(some), {name: round(float(scores[name]), 4) for name in MEASURED}


def _with_columns(Y: Csr, n_labels: int) -> Csr:
    """The first labels alone."""
    kept = Y.indices < n_labels
    offsets = np.concatenate([[0], np.cumsum(kept)])[Y.indptr]
    return assemble(Y.data[kept], Y.indices[kept], offsets, (int(Y.shape[0]), n_labels))


def forgotten(tagger: Tagger, rows: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Without some of the kept rows: in memory now, in what was learned from them after the next update."""
    life = tagger.life
    if life.rows is None:
        raise InputError(NO_ROWS)
    kept, last = life.rows, len(life.rows) - 1
    numbers = np.unique(as_integers(rows, "rows", f"numbers of kept rows, from 0 to {last}"))
    if not len(numbers) or numbers[0] < 0 or numbers[-1] > last:
        raise InputError(f"rows must be numbers of kept rows, from 0 to {last}; got {shown(rows)}")
    gone = numbers[kept.alive[numbers] == 0]
    if len(gone):
        raise InputError(f"row {gone[0]} was forgotten before")
    if len(numbers) == len(kept.living):
        raise InputError(f"rows: all {len(numbers)} rows would be forgotten; at least one must stay")
    touched = np.unique(take_rows(life.matrix(len(tagger.label_ids)), numbers).indices)
    vectorizer, left = _words_forgotten(tagger.vectorizer, kept, numbers)
    life = replace(life, rows=left, again=np.union1d(life.again, touched))
    counts = np.bincount(life.matrix(len(tagger.label_ids)).indices, minlength=len(tagger.label_ids))
    model: Model = tagger.model
    if isinstance(model, Forgets):
        model = model.without(numbers)
    values = {
        "model": model,
        "vectorizer": vectorizer,
        "_life": life,
        "label_counts": counts.astype(np.int64),
        "n_rows": len(kept.living) - len(numbers),
    }
    return values, {"rows": numbers.tolist()}


def _words_forgotten(
    vectorizer: Vectorizer | None, kept: KeptRows, numbers: Int64
) -> tuple[Vectorizer | None, KeptRows]:
    """Without some rows, and without the words that no other row has: they would tell what was in the text."""
    if vectorizer is None or kept.texts is None:
        return vectorizer, kept.without(numbers)
    left = kept.without(numbers)
    known, X = take_rows(kept.features(vectorizer), numbers).indices, left.features(vectorizer)
    lost = np.setdiff1d(known, X.indices)
    if not len(lost):
        return vectorizer, left
    vectorizer = vectorizer.without_features(lost)
    return vectorizer, left.seen_by(vectorizer)


def refreshed(tagger: Tagger, checkpoint: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Trained again on all kept rows, with words and labels as they are now; retired and merged labels are gone."""
    life = tagger.life
    if life.rows is None:
        raise InputError(NO_ROWS)
    kept = life.rows.compacted()
    names, Y = tagger.label_ids, replace(life, rows=kept).matrix(tagger.n_labels)
    skipped = np.isin(Y.indices, life.skipped)
    rows = np.repeat(np.arange(len(kept)), np.diff(Y.indptr))[~skipped]
    met = np.unique(Y.indices[~skipped])
    active = sorted((names[int(i)], int(i)) for i in met)
    number = np.full(len(names), -1, np.int64)
    number[[i for _, i in active]] = np.arange(len(active))
    made = labels_from_pairs(rows, number[Y.indices[~skipped]], (len(kept), len(active)))
    dataset = kept.dataset(made, StringTable.of(name for name, _ in active))
    other = tagger.clone()
    other.keep_rows = False
    other.fit(dataset, checkpoint=checkpoint)
    number[[i for _, i in active]] = [cast(int, other.label_ids.find(name)) for name, _ in active]
    became = np.arange(len(names))
    for a, b in life.merged.items():
        became[a] = b
    of_key = np.where(life.number >= 0, number[became[np.maximum(life.number, 0)]], -1)
    values = {
        "model": other.model, "vectorizer": other.vectorizer, "_label_names": other.label_ids,
        "label_counts": other.label_counts, "n_rows": other.n_rows, "probability_curves": None,
        "_life": Life(
            rows=kept, number=of_key, version=life.version, base=life.version + 1, entries=life.entries,
            lines=life.lines, vocabularies=life.vocabularies,
        ),
    }  # fmt: skip
    return values, {"rows": other.n_rows, "labels": len(active)}
