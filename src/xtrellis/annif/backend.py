"""`XtrellisBackend`: a tagger of ours between Annif's analyzers and its subject index."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from annif.backend.backend import AnnifLearningBackend
from annif.exception import (
    ConfigurationException,
    NotInitializedException,
    NotSupportedException,
    OperationFailedException,
)
from annif.suggestion import SuggestionBatch
from scipy.sparse import csr_array

from ..arrays import Float32, Int64
from ..core import MissingExtraError, ParameterError, StoreError, XtrellisError
from ..store import load
from ..tagger import Tagger, goes_by_names
from . import wanted
from .words import as_it_is, reader, vocabulary_of

MODEL = "xtrellis-model"
ROWS = "xtrellis-train.jsonl"  # what `train --cached` reads; Annif takes files called so for no part of a model
T = TypeVar("T")


def in_order(scores: Float32) -> Float32:
    """Equal scores of a row made to fall by the least step that there is: Annif sorts by scores, and would mix them."""
    out = scores.copy()
    for j in range(1, scores.shape[1]):
        equal = (scores[:, j] == scores[:, j - 1]) & (scores[:, j] > 0)
        out[equal, j] = np.nextafter(out[equal, j - 1], np.float32(0))
    return out


class XtrellisBackend(AnnifLearningBackend):  # type: ignore[misc]  # Annif is not typed
    """Label trees, neighbours and names as one of Annif's backends; `preset` says which."""

    name = "xtrellis"
    DEFAULT_PARAMETERS = wanted.DEFAULTS

    _tagger: Tagger | None = None
    _subjects: Int64 | None = None  # Annif's number of each label; -1 of what its vocabulary has no longer
    _threads: int | None = None

    # ── what Annif calls ────────────────────────────────────────────────────────────────────────────────────────────

    def initialize(self, parallel: bool = False) -> None:
        """Load the model; processes that Annif runs side by side have one thread each."""
        if parallel:
            self._threads = 1
        if self._tagger is None:
            self._use(self._told(self._load))

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        self._told(lambda: self._train_on(corpus, params, jobs))

    def _learn(self, corpus: Any, params: dict[str, Any]) -> None:
        self.initialize()
        self._told(lambda: self._learn_from(corpus, params))

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> Any:
        limit = self._told(lambda: wanted.whole(params, "limit"))
        return self._told(lambda: self._suggested([document.text for document in documents], limit))

    # ── training ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _train_on(self, corpus: Any, params: dict[str, Any], jobs: int) -> None:
        analysed = self._analyzer is not None
        tagger = wanted.untrained(params, analysed=analysed, threads=jobs or None)  # what is wrong is said before all
        if corpus == "cached":
            self.info("reading the rows of the training before")
        elif corpus.is_empty():
            raise NotSupportedException("training needs documents; got none", backend_id=self.backend_id)
        else:
            self.info("reading documents")
            self._keep(self._rows_of(corpus))
        texts, labels = self._kept()
        vocabulary = vocabulary_of(self.project, self._read, all_names=goes_by_names(tagger.model))
        tagger = wanted.untrained(params, analysed=analysed, vocabulary=vocabulary, threads=jobs or None)
        self.info(f"training {params['preset']} on {len(texts):,} documents")
        tagger.fit(texts, labels)
        tagger.about = {"preset": str(params["preset"]), "annif": {"analyzer": self._analyzer}}
        self.info("saving the model")
        tagger.save(self._model_path)
        self._use(tagger)

    def _learn_from(self, corpus: Any, params: dict[str, Any]) -> None:
        tagger = self._loaded
        why_not = tagger.why_no_update()
        if why_not is not None:
            cure = "" if tagger.keep_rows else " (a project with allow_learn=true keeps them: train it again)"
            raise NotSupportedException(why_not + cure, project_id=self.project.project_id)
        rows = list(self._rows_of(corpus))
        if not rows:
            return
        tagger.update([row["text"] for row in rows], [row["labels"] for row in rows])
        tagger.save(self._model_path)
        self._use(tagger)

    def _rows_of(self, corpus: Any) -> Iterator[dict[str, Any]]:
        """Documents with subjects, as words and URIs; the others teach nothing."""
        subjects, read = self.project.subjects, self._read
        for document in corpus.documents:
            text, uris = read(document.text), [subjects[number].uri for number in document.subject_set]
            if uris and text:
                yield {"text": text, "labels": uris}

    def _keep(self, rows: Iterator[dict[str, Any]]) -> None:
        """Write the rows down for the next `train --cached`; a file that is there is replaced when all are written."""
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115 - it gets its name at the end
            "w", encoding="utf-8", dir=self.datadir, prefix="tmp-", delete=False
        )
        try:
            with file:
                file.write(json.dumps({"analyzer": self._analyzer}) + "\n")
                for row in rows:
                    file.write(json.dumps(row) + "\n")
            Path(file.name).replace(self._rows_path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise

    def _kept(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        if not self._rows_path.exists():
            told = "no training data is cached; train without --cached first"
            raise NotInitializedException(told, backend_id=self.backend_id)
        texts, labels = [], []
        try:
            with self._rows_path.open(encoding="utf-8") as lines:
                analyzer = json.loads(next(lines, ""))["analyzer"]
                for line in lines:
                    row = json.loads(line)
                    texts.append(row["text"])
                    labels.append(row["labels"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self._rows_path} cannot be read ({error}); train without --cached") from None
        self._require_analyzer(analyzer, "the cached rows were read", "without --cached")
        if not texts:
            raise NotSupportedException("no document has both words and subjects", backend_id=self.backend_id)
        return texts, labels

    # ── answering ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _suggested(self, texts: list[str], limit: int) -> Any:
        tagger, numbers, size = self._loaded, self._subjects, len(self.project.subjects)
        top = tagger.predict(list(map(self._read, texts)), min(limit, tagger.n_labels))
        scores = (tagger.probabilities(top) or top).scores
        found = np.where(top.labels >= 0, numbers[top.labels], -1)  # type: ignore[index]  # set with the tagger
        kept = (found >= 0) & (scores > 0)
        rows = np.repeat(np.arange(len(texts)), kept.sum(axis=1))
        values = in_order(np.minimum(scores, 1).astype(np.float32))[kept]
        return SuggestionBatch(csr_array((values, (rows, found[kept])), shape=(len(texts), size), dtype=np.float32))

    # ── the model ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _loaded(self) -> Tagger:
        if self._tagger is None:
            self.initialize()
        assert self._tagger is not None
        return self._tagger

    def _load(self) -> Tagger:
        if not self._model_path.exists():
            raise NotInitializedException(f"model {self._model_path} not found", backend_id=self.backend_id)
        wanted.untrained(self.params, analysed=self._analyzer is not None)  # refuses what nobody knows
        found = load(self._model_path)
        if not isinstance(found, Tagger):
            raise StoreError(f"{self._model_path} holds a {type(found).__name__}, which cannot tag; train again")
        noted = found.about.get("annif")
        self._require_analyzer((noted or {}).get("analyzer"), "the model was trained", "again")
        return found

    def _use(self, tagger: Tagger) -> None:
        by_uri = self.project.subjects.by_uri
        numbers = (by_uri(uri, warnings=False) for uri in tagger.label_ids)
        self._subjects = np.array([-1 if number is None else number for number in numbers], np.int64)
        for part in (tagger.vectorizer, tagger.model):
            if part is not None and self._threads is not None and "threads" in part.get_params(deep=False):
                part.set_params(threads=self._threads)
        self._tagger = tagger

    @property
    def _analyzer(self) -> str | None:
        return self.project.analyzer_spec or None

    @property
    def _read(self) -> Callable[[str], str]:
        return as_it_is if self._analyzer is None else reader(self.project.analyzer)

    def _require_analyzer(self, then: str | None, what: str, cure: str) -> None:
        if then != self._analyzer:
            raise ConfigurationException(
                f"{what} with analyzer={then}, the project now has analyzer={self._analyzer}: train {cure}",
                project_id=self.project.project_id,
            )

    @property
    def _model_path(self) -> Path:
        return Path(self.datadir) / MODEL

    @property
    def _rows_path(self) -> Path:
        return Path(self.datadir) / ROWS

    def _told(self, work: Callable[[], T]) -> T:
        """Do it; what our library refuses is said as Annif says such things."""
        try:
            return work()
        except (ParameterError, MissingExtraError) as error:
            raise ConfigurationException(str(error), project_id=self.project.project_id) from error
        except XtrellisError as error:
            raise OperationFailedException(str(error), project_id=self.project.project_id) from error
