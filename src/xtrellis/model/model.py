"""What every model is: parameters, `fit`, `predict`, `save`. One contract test holds for all of them.

Users' arrays come in by one door, `fit` (or `estimate`) here: they become `TrainingData`, checked, and go to `_train`.
The k best labels are ordered by score; how labels of equal scores are ordered is up to a model, but always the same.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import __version__
from ..arrays import Csr, Int32, TopK
from ..core import Configured, Engine, InputError, NotFittedError, StoreError, as_path, integer, param, shown, using
from ..data import TrainingData, hash_files
from ..store import Copyable, State, discard, save
from .capabilities import Resumes
from .estimate import Estimate

if TYPE_CHECKING:
    from typing_extensions import Self


class Model(Configured, Copyable):
    """A classifier from features to a ranked list of labels."""

    seed: int = param(integer(at_least=0, at_most=2**63 - 1), "makes everything random repeatable", default=0)
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, role="machine"
    )

    needs_labels: ClassVar[bool] = False  # training means nothing if no row has a label
    needs_label_names: ClassVar[bool] = False  # it goes by what labels are called
    _learned: ClassVar[str] = "_network"  # the attribute that is None (or empty) before training

    _trained_with: Mapping[str, Any] | None = None  # the parameters of the last fit that shape a model
    _checkpoint: Path | None = None  # of the last fit; it goes when the model is saved

    def fit(
        self,
        X: Any,
        Y: Any = None,
        *,
        texts: Sequence[str] | None = None,
        label_names: Iterable[str] | None = None,
        label_features: Any = None,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: Engine | None = None,
    ) -> Self:
        """Learn from n×d features and n×L labels (sparse or dense, any numeric dtype), a `Dataset` or a `TrainingData`.

        `texts` (n) go to models that read them; `label_features` (L×any) and `label_names` (L) help to place the
        labels in a tree; `sample_weight` (n) says how much each row counts, 0 as if it were not there. `checkpoint`
        names a folder that finished work is written to: if it holds that of a training of the same data with the same
        parameters, this one goes on from there and ends with the same model. It is deleted when the model is saved.
        `engine` says where tasks run: on threads of this process, or on a cluster (`xt.engines.Ray()`); the model is
        the same.
        """
        data = TrainingData.of(
            X, Y, texts=texts, label_names=label_names, label_features=label_features, sample_weight=sample_weight
        ).that_count()
        self._refuse_useless(label_features, data.sample_weight)
        model: object = self
        if checkpoint is not None and not isinstance(model, Resumes):
            raise InputError(f"a {type(self).__name__} keeps no checkpoints: its training cannot be resumed")
        if self.needs_labels and data.Y.nnz == 0:
            raise InputError("training needs at least one row with a label; Y is empty")
        if self.reads_texts and data.texts is None:
            raise InputError(f"this {type(self).__name__} reads texts; pass texts=[…], one per row")
        folder = None if checkpoint is None else as_path(checkpoint, "checkpoint", error=StoreError)
        require_engine(self, engine)
        try:
            with using(engine):
                self._train(self._prepared(data), folder)
        except MemoryError as error:
            raise InputError(
                f"this machine has too little memory to train a {type(self).__name__} on {data.n_rows:,} rows, "
                f"{data.n_features:,} features and {data.n_labels:,} labels ({str(error) or 'MemoryError'}); "
                "`estimate` says what it takes: use fewer features or labels, or a smaller model"
            ) from error
        if not self.fitted:  # a class of somebody's own
            raise InputError(
                f"{type(self).__name__}._train must set {self._learned}, by which a model is known to be trained; name "
                "another attribute with _learned = '…'"
            )
        self._checkpoint = folder
        self._remember_params()
        return self

    def _refuse_useless(self, label_features: Any, sample_weight: Any = None) -> None:
        if sample_weight is not None and not self.uses_sample_weight:
            raise InputError(f"sample_weight: a {type(self).__name__} cannot weigh rows; a LinearTree can")
        if label_features is not None and not self.uses_label_features:
            raise InputError(f"label_features: {type(self).__name__} has no use for them")

    def _prepared(self, data: TrainingData) -> TrainingData:
        """What `_train` gets; a FeatureModel scales the rows."""
        return data

    @abstractmethod
    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        """Learn from checked data; what was learned before stays until all is done."""

    def estimate(
        self, X: Any, Y: Any = None, *, label_names: Iterable[str] | None = None, label_features: Any = None
    ) -> Estimate:
        """What `fit` will take: memory, size of the model. Quick and rough."""
        data = TrainingData.of(X, Y, label_names=label_names, label_features=label_features)
        return self._estimate(self._prepared(data))

    def _estimate(self, data: TrainingData) -> Estimate:
        """See `estimate`; a model that does not say is taken to need no more than its data."""
        return Estimate.of(data, training_bytes=0, model_bytes=0)

    @abstractmethod
    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row."""

    @property
    def fitted(self) -> bool:
        """True after `fit` or loading."""
        learned = getattr(self, self._learned, None)
        return not (learned is None or (isinstance(learned, tuple) and not learned))

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """How many labels the fitted model knows."""

    @property
    def reads_texts(self) -> bool:
        """True if `fit` and `predict` need `texts` beside the features."""
        return False

    def finds_something(self, texts: Sequence[str]) -> Sequence[bool]:
        """Of texts without any known feature: whether there is more in them to go by than how frequent labels are."""
        return [self.reads_texts] * len(texts)

    @property
    def uses_label_features(self) -> bool:
        """True if `fit` has a use for `label_features`."""
        return False

    @property
    def uses_sample_weight(self) -> bool:
        """True if `fit` has a use for `sample_weight`."""
        return False

    @property
    def uses_engine(self) -> bool:
        """True if `fit` hands tasks to an `engine`."""
        return False

    @property
    def answers_probabilities(self) -> bool:
        """True if scores say how likely a label is right, learned from rows that the model has not seen."""
        return False

    @property
    def why_no_probabilities(self) -> str:
        """Of a model that would answer with probabilities, had it been trained on more: what it lacked; else empty."""
        return ""

    @property
    def may_deny(self) -> bool:
        """True if a higher score can speak against a label, too; who weighs models finds out what it means."""
        return False

    @property
    def witness(self) -> str:
        """What it is called among others that explain an answer with it."""
        return type(self).__name__

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of its estimators; a model is none, but can be made one."""
        raise InputError(
            f"a {type(self).__name__} is no estimator of scikit-learn; put xtrellis.sklearn.Classifier(model) around it"
        )

    def inner_models(self) -> Sequence[Model]:
        """The trained models that this one is made of."""
        return ()

    def validation_rows(self, Y: Csr) -> Int32:
        """Rows with labels that training on Y will leave out by itself, so that no classifier learns from them.

        Who stands on the model (a calibration) can learn from them how good it really is. Often there are none.
        """
        return np.zeros(0, np.int32)

    def made_from(self, data: TrainingData) -> dict[str, Any]:
        """What a training of this model on this data depends on: what a checkpoint is known by."""
        return {
            "version": __version__,
            "params": self.params_to_json("fit", "fit+search"),
            "files": hash_files(self.named_files()),
            **data.fingerprint,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a folder, whole or not at all; an existing model there is replaced only when done."""
        self._require_fitted()
        save(self, path)
        self.discard_checkpoint()

    def discard_checkpoint(self) -> None:
        """Delete the checkpoint of the last fit: the model is safe elsewhere."""
        if self._checkpoint is not None:
            discard(self._checkpoint)
            self._checkpoint = None

    def to_state(self) -> State:
        """For the store; refuses parameters that the model was not trained with: it would not be what it says."""
        self._require_fitted()
        now = self.params_to_json("fit")
        for name, then in (self._trained_with or {}).items():
            if now.get(name, then) != then:
                raise StoreError(
                    f"{name} was set to {shown(now[name])} after training with {shown(then)}; saved, it would not be "
                    "what it says: fit again, or set it back"
                )
        return self._to_state()

    def _to_state(self) -> State:
        """The fitted state, without copying arrays; without it and `from_state` a model cannot be stored."""
        raise StoreError(f"a {type(self).__name__} cannot be saved: it has no _to_state")

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """The model again, from the store."""
        raise StoreError(f"a {cls.__name__} cannot be loaded: it has no from_state")

    def loaded(self, params: Mapping[str, Any]) -> None:
        """What it was stored with is what it was trained with; parts may have got parameters since, of no effect."""
        now = self.params_to_json("fit")
        self._trained_with = {name: now[name] for name in params if name in now}

    def _remember_params(self) -> None:
        self._trained_with = self.params_to_json("fit")

    def _require_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError(
                f"this {type(self).__name__} is not trained yet; call fit first, or xt.load a saved one"
            )


def require_engine(model: Model, engine: Any) -> None:
    """Refuse an engine that would not be used."""
    if engine is None:
        return
    if not isinstance(engine, Engine):
        raise InputError(f"engine must be xt.engines.Local() or xt.engines.Ray(); got {shown(engine)}")
    if engine.far and not model.uses_engine:
        raise InputError(f"engine: a {type(model).__name__} trains on one machine only; a LinearTree can use a cluster")
