"""`Ensemble`: several models as one. What a member did not propose itself it is asked for, not held to score 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..arrays import Array, Csr, TopK, as_features, as_pairs, as_texts, for_scipy, take_rows
from ..core import Configured, InputError, ParameterError, StoreError, choice, generator, integer, key, param
from ..data import TrainingData
from ..explain import Explanation
from ..linear import LinearTree
from ..model import Estimate, Model, can_score, check_k, one_after_another
from ..store import Stages, State, Storable
from .calibration import is_right
from .candidates import Candidates, reciprocal_ranks
from .explain import explain_ensemble
from .isotonic import Curve
from .members import asked, fresh, model_parts, scores_of, trained, with_threads

if TYPE_CHECKING:
    from typing_extensions import Self

COMBINE = ("mean", "calibrated", "reciprocal-rank")
CHUNK = 8192  # rows whose candidates are pooled at once
CALIBRATION = 5000  # rows for calibration at most; never more than a tenth


class Ensemble(Model):
    """The mean of its members' scores, of what these scores are worth, or of reciprocal ranks.

    A candidate that a member did not return is scored by it if it can score given labels; otherwise the member says
    nothing for it, which counts as 0. The members' seeds follow the ensemble's.
    """

    keeps_checkpoints: ClassVar[Literal[True]] = True
    _learned = "_members"

    models: list[Model] = param(
        model_parts(), "the members; each is trained with a seed of its own", default=[LinearTree() for _ in range(3)]
    )
    combine: str = param(
        choice(*COMBINE),
        "mean of scores, of probabilities learned on held-out rows, or of 1 / (60 + rank)",
        default="mean",
    )
    candidates: int = param(
        integer(at_least=1), "labels of a row that each member proposes", default=30, role="fit+search"
    )

    _members: tuple[Model, ...] = ()
    _curves: tuple[Curve, ...] = ()

    @classmethod
    def of(cls, members: Sequence[Model], *, validation: Any = None, texts: Any = None, **params: Any) -> Self:
        """An ensemble of models that are trained already. `validation` = (X, Y): rows that no member has seen."""
        out = cls(models=list(members), **params)
        if not all(member.fitted for member in members):
            raise InputError("Ensemble.of needs trained models; Ensemble(models=…).fit trains them")
        _check_alike(members)
        if out.combine == "calibrated":
            if validation is None:
                raise InputError("combine='calibrated' needs validation=(X, Y), rows that no member has seen")
            if not isinstance(validation, (tuple, list)) or len(validation) != 2:
                raise InputError(f"validation must be a pair (X, Y); got {type(validation).__name__}")
            data = TrainingData.of(*validation, texts=texts)
            if data.n_labels != members[0].n_labels:
                raise InputError(f"Y has {data.n_labels} labels; the members know {members[0].n_labels}")
            out._curves = out._learn_curves(members, data)
        out._members = tuple(members)
        out._remember_params()
        return out

    @property
    def members(self) -> tuple[Model, ...]:
        """The trained models (`models` are only their descriptions)."""
        self._require_fitted()
        return self._members

    @property
    def n_labels(self) -> int:
        """How many labels the fitted members know."""
        return self.members[0].n_labels

    @property
    def reads_texts(self) -> bool:
        """True if one of the members does."""
        return any(model.reads_texts for model in self._members or self.models)

    @property
    def uses_label_features(self) -> bool:
        """True if one of the members does."""
        return any(model.uses_label_features for model in self.models)

    @property
    def uses_sample_weight(self) -> bool:
        """True if all of the members do."""
        return all(model.uses_sample_weight for model in self.models)

    def inner_models(self) -> Sequence[Model]:
        """The members."""
        return self.members

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        """Every member; with combine='calibrated' twice, first without the rows that calibrate."""
        held = min(CALIBRATION, data.n_rows // 10)
        curves: tuple[Curve, ...] = ()
        with Stages(checkpoint, self.made_from(data) if checkpoint else {}) as stages:
            if self.combine == "calibrated" and held:
                order = generator(self.seed, "calibration").permutation(data.n_rows)
                trial = self._train_members(data.select(np.sort(order[held:])), stages, "trial")
                curves = self._learn_curves(trial, data.select(np.sort(order[:held])))
            members = self._train_members(data, stages, "member")
        self._members, self._curves = members, curves

    def _train_members(self, data: TrainingData, stages: Stages, name: str) -> tuple[Model, ...]:
        def make(i: int, at: Path | None) -> Model:
            return trained(
                fresh(self.models[i], seed=key(self.seed, "member", i) % 2**32, threads=self.threads), data, at
            )

        return tuple(
            stages.made(f"{name}{i}", Model, partial(make, i))  # type: ignore[type-abstract]
            for i in range(len(self.models))
        )

    def _estimate(self, data: TrainingData) -> Estimate:
        """All members, one after another."""
        return one_after_another([with_threads(m.clone(), self.threads).estimate(data) for m in self.models])

    def _learn_curves(self, members: Sequence[Model], data: TrainingData) -> tuple[Curve, ...]:
        curves = []
        for member in members:
            top = asked(member, data.X, self.candidates, data.texts, threads=self.threads)
            there = top.labels >= 0
            curves.append(Curve.learn(top.scores[there], is_right(top.labels, data.Y)[there]))
        return tuple(curves)

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None) -> TopK:
        """The k best labels of each row, of all that some member proposes."""
        self._require_fitted()
        k = check_k(k)
        n = _n_rows(X, texts)
        if n <= CHUNK:
            return self._predict(X, k, texts)
        # Candidates take some 40 bytes each: not of all rows at once.
        X, texts = None if X is None else as_features(X), None if texts is None else as_texts(texts, n_rows=n)
        spans = [(first, min(first + CHUNK, n)) for first in range(0, n, CHUNK)]
        parts = [
            self._predict(
                None if X is None else take_rows(X, np.arange(*span)), k, None if texts is None else texts[slice(*span)]
            )
            for span in spans
        ]
        labels, scores = np.concatenate([p.labels for p in parts]), np.concatenate([p.scores for p in parts])
        return TopK(labels, scores, self.n_labels)

    def _predict(self, X: Any, k: int, texts: Sequence[str] | None) -> TopK:
        candidates, mean = self.gather(X, max(k, self.candidates), texts)
        return candidates.best(mean, k, threads=self.threads)

    def gather(self, X: Any, wide: int, texts: Sequence[str] | None) -> tuple[Candidates, Array]:
        """All that some member proposes, and what the members together say of it."""
        members = self.members
        found = [asked(member, X, wide, texts, threads=self.threads) for member in members]
        candidates = Candidates.of(found)
        total = np.zeros(len(candidates), np.float64)
        for i, (member, top) in enumerate(zip(members, found, strict=True)):
            scores, missing = candidates.scores_of(top)
            able = can_score(member)
            if able and missing.any():
                scores[missing] = scores_of(member, X, candidates.pairs(missing), texts)
            total += self._worth(i, candidates, scores, None if able else missing)
        return candidates, total / len(members)

    def explain(
        self, x: Any, label: int, *, texts: Sequence[str] | None = None, label_counts: Any = None
    ) -> Explanation:
        """Why row `x` gets the label with this id, or why not: the explanation of every member.

        `texts` is a list of the row's text, for members that read it.
        """
        return explain_ensemble(self, x, label, texts, label_counts)

    def _worth(self, i: int, candidates: Candidates, scores: Array, unknown: Array | None) -> Array:
        """What a member's scores count; nothing where it is not known."""
        if self.combine == "reciprocal-rank":
            return reciprocal_ranks(candidates, scores, unknown)
        worth = self._curves[i](scores) if self._curves else scores
        return worth if unknown is None else np.where(unknown, 0, worth)

    def score(self, X: Any, labels: Any, *, texts: Sequence[str] | None = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        members = self.members
        if self.combine == "reciprocal-rank":
            raise InputError("reciprocal ranks of given labels mean nothing; use combine='mean' to score labels")
        for member in members:
            if not can_score(member):
                raise InputError(f"{type(member).__name__} cannot score given labels, so neither can the ensemble")
        wanted = for_scipy(as_pairs(labels, n_rows=_n_rows(X, texts), n_labels=self.n_labels))
        total = np.zeros(wanted.nnz, np.float64)
        for i, member in enumerate(members):
            found = scores_of(member, X, wanted, texts)
            total += self._curves[i](found) if self._curves else found
        out = wanted.copy()
        out.data = (total / len(members)).astype(np.float32)
        return out

    def clone(self) -> Self:
        """A new, unfitted ensemble of clones."""
        params = self.get_params(deep=False)
        return type(self)(**{**params, "models": type(self.models)(model.clone() for model in self.models)})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As for all; with `deep`, members as `models__0` and their parameters as `models__0__beam`."""
        found = super().get_params(deep)
        for i, model in enumerate(self.models if deep else ()):
            found[f"models__{i}"] = model
            found.update({f"models__{i}__{name}": value for name, value in model.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """As for all; `models__0__beam` reaches into the first member. Nothing changes if one of them is wrong."""
        inner = {name: value for name, value in params.items() if name.startswith("models__")}
        own = {name: value for name, value in params.items() if name not in inner}
        trial = self.clone() if inner else self
        if inner and own:
            Configured.set_params(trial, **own)
        for name, value in inner.items():
            model, rest = trial._member(name)
            model.set_params(**{rest: value})
        super().set_params(**own)
        for name, value in inner.items():
            model, rest = self._member(name)
            model.set_params(**{rest: value})
        return self

    def set_from_text(self, name: str, text: str) -> None:
        """As for all; `models.0.beam` reaches into the first member."""
        name = name.replace(".", "__")
        if name.startswith("models__"):
            model, rest = self._member(name)
            model.set_from_text(rest, text)
        else:
            super().set_from_text(name, text)

    def _member(self, name: str) -> tuple[Model, str]:
        """The model that `models__0__beam` means, and the name of its parameter."""
        number, _, rest = name.removeprefix("models__").partition("__")
        if not number.isdecimal() or len(number) > 9 or int(number) >= len(self.models) or not rest:
            raise ParameterError(
                f"{name} must name a member by its number, 0 to {len(self.models) - 1}, and a parameter"
            )
        return self.models[int(number)], rest

    def _to_state(self) -> State:
        parts: dict[str, Storable] = {f"member{i}": member for i, member in enumerate(self.members)}
        arrays = {}
        for i, curve in enumerate(self._curves):
            arrays[f"scores{i}"], arrays[f"probabilities{i}"] = curve
        return State(meta={"members": len(self._members), "curves": len(self._curves)}, arrays=arrays, parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        out = cls(**params)
        n, n_curves = state.meta.get("members"), state.meta.get("curves")
        found = [state.parts.get(f"member{i}") for i in range(len(state.parts))]
        members = tuple(member for member in found if isinstance(member, Model))
        if not members or len(members) != len(found) or n != len(members) or n_curves not in (0, n):
            raise StoreError("an Ensemble needs as many models as it has members, and a curve for all or none")
        curves = []
        for i in range(n_curves):
            curve = Curve(*(state.arrays.get(f"{what}{i}", np.zeros(0)) for what in ("scores", "probabilities")))
            if any(a.dtype != np.float64 or a.ndim != 1 for a in curve) or not len(curve[0]) == len(curve[1]) > 0:
                raise StoreError("an Ensemble's curve needs scores and probabilities, float64, of one length")
            if not all(np.isfinite(a).all() for a in curve) or (np.diff(curve.scores) < 0).any():
                raise StoreError("the scores and probabilities of an Ensemble's curve must be finite, the scores rise")
            curves.append(curve)
        try:
            _check_alike(members)
        except InputError as error:
            raise StoreError(str(error)) from None
        out._members, out._curves = members, tuple(curves)
        return out


def _n_rows(X: Any, texts: Any) -> int:
    """Of what users give to predict for; X may be None if all members read texts."""
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, (list, tuple)):
        return len(X)
    if X is None and texts is not None:
        return len(as_texts(texts))
    raise InputError(f"X must be a scipy sparse matrix or a NumPy array; got {type(X).__name__}")


def _check_alike(members: Sequence[Model]) -> None:
    sizes = sorted({member.n_labels for member in members})
    if len(sizes) != 1:
        raise InputError(f"the members of an ensemble must know the same labels; they have {sizes}")
