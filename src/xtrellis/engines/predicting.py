"""Prediction on an engine: rows in batches, answers in their order; in memory, or as parts of a folder.

A model that is in memory is shared as the bytes of its files, which every node holds once and maps; one that is named
by its folder is mapped from there.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import TopK
from ..core import DataError, Engine, InputError, StoreError, as_path, clear_calls, integer, progress, require, shown
from ..data import Dataset, StoredDataset, open
from ..model import Model, check_k
from ..store import Content, load, load_files, saved_files
from ..tagger import Tagger

LARGEST = 1 << 14  # rows of a batch, if nobody says
DONE = "predictions.json"
MANIFEST, DATA_MANIFEST = "model.json", "data.json"


class RowsOf:
    """A batch: rows of a data folder, or the rows themselves."""

    def __init__(self, path: str | None, first: int, last: int, X: Any, texts: list[str] | None) -> None:
        self.path, self.first, self.last, self.X, self.texts = path, first, last, X, texts

    def given(self) -> Any:
        """Texts or features."""
        if self.path is None:
            return self.texts if self.texts is not None else self.X
        if not Path(self.path).is_dir():
            raise DataError(
                f"there is no such data folder on {os.uname().nodename}; put it where every node can read it",
                path=self.path,
            )
        some = _opened(self.path).select(slice(self.first, self.last))
        return list(some.texts) if some.texts is not None else some.X


@lru_cache(maxsize=2)
def _opened(path: str) -> StoredDataset:
    return open(path)


Span = tuple[int, int]  # rows of a data set


def batches(dataset: Dataset, size: int) -> list[Span]:
    """All rows, some at a time."""
    return [(first, min(dataset.n_rows, first + size)) for first in range(0, dataset.n_rows, size)]


def even_batch(n_rows: int, workers: int) -> int:
    """Rows of a batch, so that every worker has as many of them."""
    turns = -(-n_rows // (LARGEST * workers))
    return max(1, -(-n_rows // max(1, turns * workers)))


def rows_of(dataset: Dataset, span: Span) -> RowsOf:
    """What travels of a batch."""
    first, last = span
    if isinstance(dataset, StoredDataset) and dataset.path is not None and dataset.rows is not None:
        begin = dataset.rows[0]
        return RowsOf(str(dataset.path), begin + first, begin + last, None, None)
    some = dataset.select(slice(first, last))
    texts = None if some.texts is None else list(some.texts)
    return RowsOf(None, first, last, some.X if texts is None else None, texts)


def halves(span: Span) -> list[Span]:
    """For a batch that takes more memory than a worker has; none of a single row."""
    first, last = span
    middle = (first + last) // 2
    return [(first, middle), (middle, last)] if last - first > 1 else []


class SharedModel(NamedTuple):
    """What travels to the nodes: where a model lies, or all of its files; and a hash of them, by which it is known."""

    digest: str
    place: str | dict[str, Any]

    def load(self) -> Any:
        return load(self.place) if isinstance(self.place, str) else load_files(self.place)


def shared_model(model: Any) -> SharedModel:
    """The hash is that of the manifest, which holds the hashes of all files."""
    if isinstance(model, (str, os.PathLike)):
        load(model)  # or an error, now
        folder = as_path(model).absolute()
        return SharedModel(hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest(), str(folder))
    if not isinstance(model, (Model, Tagger)):
        raise InputError(f"model must be a model, a tagger, or the folder of one; got {shown(model)}")
    files = saved_files(model)
    return SharedModel(hashlib.sha256(bytes(files[MANIFEST])).hexdigest(), files)


def share_model(engine: Engine, model: Any) -> tuple[SharedModel, Any]:
    """A model and the handle of it. An engine that stays open keeps the last one: a model that is as it was is neither
    packed nor hashed again."""
    if not isinstance(model, (Model, Tagger)):
        files = shared_model(model)
        return files, engine.share(files)
    content = Content(model)
    if engine.kept is None or engine.kept[0] != content:
        files = shared_model(model)
        engine.kept = content, (files, engine.share(files))
    shared: tuple[SharedModel, Any] = engine.kept[1]
    return shared


_models: dict[str, tuple[Any, SharedModel]] = {}  # of this process: the last one


def loaded(model: SharedModel) -> Any:
    """The model again, mapped once a process: files that came by Ray are its own memory, which all of a node share."""
    if model.digest not in _models:
        _models.clear()
        _models[model.digest] = alone(model.load()), model
    return _models[model.digest][0]


def alone(found: Any) -> Any:
    """A model or tagger as a task has it: with one processor."""
    for part in (getattr(found, "vectorizer", None), getattr(found, "model", found)):
        if part is not None and "threads" in part.get_params(deep=False):
            part.set_params(threads=1)
    return found


def answer(model: SharedModel, rows: RowsOf, k: int) -> tuple[Any, Any]:
    """A task."""
    top = loaded(model).predict(rows.given(), k)
    return top.labels, top.scores


def answer_to(model: SharedModel, rows: RowsOf, k: int, to: str) -> int:
    """A task whose answers go to a file: it is there whole, or not at all."""
    tagger = loaded(model)
    if not isinstance(tagger, Tagger):
        tagger = Tagger.of_model(tagger)
    lines = [
        json.dumps(
            {"labels": [tag.label for tag in tags], "scores": [round(tag.score, 9) for tag in tags]}, ensure_ascii=False
        )
        for tags in tagger.named(tagger.predict(rows.given(), k))
    ]
    aside = f"{to}.tmp-{os.getpid()}"
    try:
        with Path(aside).open("w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)
        Path(aside).replace(to)
    except OSError as error:
        raise StoreError(
            f"cannot write {to} on {os.uname().nodename}: {error.strerror or error}; parts that are there stay, and "
            "the same call goes on with the others"
        ) from None
    finally:
        Path(aside).unlink(missing_ok=True)
    return len(lines)


def predict_all(engine: Engine, model: Any, dataset: Dataset, k: int, batch: int | None = None) -> TopK:
    """Answers in memory, in the order of the rows."""
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    k = check_k(k)
    integer(at_least=1, or_none=True)("batch", batch)
    size = even_batch(dataset.n_rows, engine.workers) if batch is None else batch
    files, handle = share_model(engine, model)
    n_labels = (files.load() if isinstance(files.place, str) else model).n_labels
    width = min(k, n_labels)
    labels = np.full((dataset.n_rows, width), -1, np.int32)
    scores = np.zeros((dataset.n_rows, width), np.float32)
    with progress.step("predicting", total=dataset.n_rows, unit="rows") as advance:

        def task(span: Span) -> tuple[Span, tuple[Any, ...]]:
            return span, (handle, rows_of(dataset, span), k)

        def done(span: Span, found: tuple[Any, Any]) -> None:
            first, last = span
            wide = found[0].shape[1]
            labels[first:last, :wide], scores[first:last, :wide] = found
            advance(last - first)

        engine.run(
            answer, map(task, batches(dataset, size)), done, split=lambda span: [task(half) for half in halves(span)]
        )
    return TopK(labels, scores, n_labels)


@clear_calls
def predict_to(
    engine: Engine, model: Any, dataset: Dataset, to: str | os.PathLike[str], k: int = 10, *, batch: int = 8192
) -> int:
    """JSON lines in a folder, a file a batch; how many rows.

    Parts that are there already, of a run of the same that was stopped, are kept; `predictions.json` says that all are
    there.
    """
    require(dataset, Dataset, "dataset", "an xt.Dataset")
    k, folder = check_k(k), as_path(to)
    integer(at_least=1)("batch", batch)
    files = shared_model(model)
    made_from = {"rows": dataset.n_rows, "batch": batch, "k": k, "model": files.digest, "data": _hash(dataset)}
    plan = folder / "plan.json"
    if (folder / DONE).exists():
        raise InputError(f"{folder} holds predictions already; choose another folder")
    if folder.exists() and any(folder.iterdir()):
        if not plan.is_file():
            raise InputError(f"{folder} holds other files; choose another folder")
        if json.loads(plan.read_text(encoding="utf-8")) != made_from:
            raise InputError(f"{folder} holds answers of another model or other rows; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    plan.write_text(json.dumps(made_from), encoding="utf-8")
    parts = -(-dataset.n_rows // batch)
    with engine, progress.step("predicting", total=dataset.n_rows, unit="rows") as advance:
        handle = engine.share(files)
        pieces: dict[Path, dict[Span, bool]] = {}  # of parts that were cut: which are there

        def task(place: Path, span: Span, to: Path) -> tuple[tuple[Path, Span], tuple[Any, ...]]:
            return (place, span), (handle, rows_of(dataset, span), k, str(to.absolute()))

        def tasks() -> Iterator[tuple[tuple[Path, Span], tuple[Any, ...]]]:
            for i, span in enumerate(batches(dataset, batch)):
                place = folder / f"part-{i:05d}-of-{parts:05d}.jsonl"
                if place.exists():
                    advance(span[1] - span[0])
                else:
                    yield task(place, span, place)

        def done(name: tuple[Path, Span], n: int) -> None:
            place, span = name
            if place in pieces:
                pieces[place][span] = True
                if all(pieces[place].values()):
                    _join(place, [_piece(place, some) for some in sorted(pieces.pop(place))])
            advance(n)

        def split(name: tuple[Path, Span]) -> list[tuple[tuple[Path, Span], tuple[Any, ...]]]:
            place, span = name
            cut, known = halves(span), pieces.setdefault(place, {})
            known.pop(span, None)
            known.update(dict.fromkeys(cut, False))
            return [task(place, half, _piece(place, half)) for half in cut]

        engine.run(answer_to, tasks(), done, split=split)
    for left in folder.glob("part-*.tmp-*"):  # of workers that were killed, or of parts that were cut
        left.unlink(missing_ok=True)
    plan.replace(folder / DONE)
    return dataset.n_rows


def _piece(place: Path, span: Span) -> Path:
    return place.with_name(f"{place.name}.tmp-rows-{span[0]}-{span[1]}")


def _join(place: Path, pieces: list[Path]) -> None:
    """A part from its pieces: it is there whole, or not at all."""
    aside = place.with_name(f"{place.name}.tmp-{os.getpid()}")
    try:
        with aside.open("wb") as out:
            for piece in pieces:
                out.write(piece.read_bytes())
        aside.replace(place)
    except OSError as error:
        raise StoreError(f"cannot write {place}: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)


def _hash(dataset: Dataset) -> str:
    """Of what is predicted for; a data folder's manifest holds the hashes of its files."""
    found = hashlib.sha256()
    if isinstance(dataset, StoredDataset) and dataset.path is not None and dataset.rows is not None:
        found.update(repr(dataset.rows).encode() + (dataset.path / DATA_MANIFEST).read_bytes())
    elif dataset.texts is not None:
        for text in dataset.texts:
            encoded = text.encode("utf-8", "surrogatepass")
            found.update(len(encoded).to_bytes(8, "little") + encoded)
    elif dataset.X is not None:
        for array in (dataset.X.indptr, dataset.X.indices, dataset.X.data):
            found.update(np.ascontiguousarray(array).view(np.uint8).data)
    return found.hexdigest()


class PredictBatches:
    """For Ray Data: `dataset.map_batches(xt.engines.PredictBatches, fn_constructor_args=("model",), …)`.

    Takes batches with a column of texts and adds `labels` and `scores`, lists as long as there are answers.
    """

    def __init__(self, model: str, k: int = 10, *, text_column: str = "text") -> None:
        self.k, self.text_column = check_k(k), text_column
        self.tagger = alone(load(model, kind=Tagger))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self.text_column not in batch:
            raise InputError(f"batches have no column {self.text_column!r}; they have {', '.join(batch)}")
        texts = [str(text) for text in batch[self.text_column]]
        found = self.tagger.named(self.tagger.predict(texts, self.k))
        out = dict(batch)
        for column, value in (("labels", lambda tag: tag.label), ("scores", lambda tag: float(tag.score))):
            lists = np.empty(len(found), object)
            lists[:] = [[value(tag) for tag in tags] for tags in found]
            out[column] = lists
        return out
