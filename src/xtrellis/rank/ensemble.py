"""`Ensemble`: several models as one. What a member did not propose itself it is asked for, not held to score 0."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_features, as_labels, as_pairs, for_scipy
from ..checks import choice, integer
from ..config import Configured, param
from ..errors import InputError, ParameterError, StoreError
from ..linear import Estimate, Explanation, LinearTree
from ..linear.estimate import together
from ..linear.stages import Stages
from ..model import Model, check_k
from ..rng import generator, key
from ..store import State, Storable
from ..types import Array, Csr, TopK
from .calibration import is_right
from .explaining import explain_ensemble
from .isotonic import Curve
from .members import (
    asked,
    can_score,
    check_texts,
    estimated,
    fresh,
    model_parts,
    rows_of,
    scores_of,
    trained,
    with_threads,
)
from .pool import Pool, reciprocal_ranks

if TYPE_CHECKING:
    from typing_extensions import Self

COMBINE = ("mean", "calibrated", "reciprocal-rank")
CHUNK = 8192  # rows whose candidates are pooled at once
HELD_OUT = 5000  # rows for calibration at most; never more than a tenth


class Ensemble(Model):
    """The mean of its members' scores, of what these scores are worth, or of reciprocal ranks.

    A candidate that a member did not return is scored by it if it has a method `score`; otherwise the member says
    nothing for it, which counts as 0.
    """

    models: list[Model] = param(
        model_parts(), "the members; each is trained with a seed of its own", default=[LinearTree() for _ in range(3)]
    )
    combine: str = param(
        choice(*COMBINE),
        "mean of scores, of probabilities learned on held-out rows, or of 1 / (60 + rank)",
        default="mean",
    )
    candidates: int = param(integer(at_least=1), "labels of a row that each member proposes", default=30)
    seed: int = param(integer(at_least=0), "makes everything random repeatable; the members' seeds follow", default=0)
    threads: int | None = param(
        integer(at_least=1, or_none=True), "threads; None for all cores", default=None, stored=False
    )

    _members: tuple[Model, ...] = ()
    _curves: tuple[Curve, ...] = ()

    @classmethod
    def of(cls, members: Sequence[Model], *, held_out: Any = None, texts: Any = None, **params: Any) -> Self:
        """An ensemble of models that are trained already. `held_out` = (X, Y): rows that no member has seen."""
        out = cls(models=list(members), **params)
        if not all(member.fitted for member in members):
            raise InputError("Ensemble.of needs trained models; Ensemble(models=…).fit trains them")
        _check_alike(members)
        out._members = tuple(members)
        if out.combine == "calibrated":
            if held_out is None:
                raise InputError("combine='calibrated' needs held_out=(X, Y), rows that no member has seen")
            X = as_features(held_out[0], name="held_out X")
            Y = as_labels(held_out[1], n_rows=int(X.shape[0]), n_labels=out.n_labels)
            out._curves = out._learn_curves(members, X, Y, rows_of(texts, np.arange(int(X.shape[0]))))
        return out

    @property
    def fitted(self) -> bool:
        """True after `fit`, `of` or loading."""
        return bool(self._members)

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

    def fit_takes(self, name: str) -> bool:
        """`label_features` if one of the members does."""
        return any(m.fit_takes(name) for m in self.models) if name == "label_features" else super().fit_takes(name)

    def fit(
        self,
        X: Any,
        Y: Any,
        *,
        texts: Any = None,
        label_features: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train every member; with combine='calibrated' twice, first without the rows that calibrate.

        `texts` and `label_features` go to members that have a use for them. `checkpoint` as in LinearTree: finished
        members are kept there until all are done.
        """
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        check_texts(texts, int(X.shape[0]))
        if label_features is not None:
            label_features = as_features(label_features, name="label features")
        made_from = {"X": X, "Y": Y, "label features": label_features}
        with Stages(checkpoint, self.to_config()["params"], made_from) as stages:
            self._fit(for_scipy(X), for_scipy(Y), texts, label_features, stages)
        return self

    def _fit(self, X: Csr, Y: Csr, texts: Any, label_features: Csr | None, stages: Stages) -> None:
        n = int(X.shape[0])
        held = min(HELD_OUT, n // 10)
        curves: tuple[Curve, ...] = ()
        if self.combine == "calibrated" and held:
            order = generator(self.seed, "calibration").permutation(n)
            known, unseen = np.sort(order[held:]), np.sort(order[:held])
            part = X[known], Y[known], rows_of(texts, known)
            trial = self._train(*part, label_features, stages, "trial")
            curves = self._learn_curves(trial, X[unseen], Y[unseen], rows_of(texts, unseen))
        members = self._train(X, Y, rows_of(texts, np.arange(n)), label_features, stages, "member")
        self._members, self._curves = members, curves

    def _train(
        self, X: Csr, Y: Csr, told: dict[str, Any], label_features: Csr | None, stages: Stages, name: str
    ) -> tuple[Model, ...]:
        def make(i: int, at: Path | None) -> Model:
            model = fresh(self.models[i], seed=key(self.seed, "member", i) % 2**32, threads=self.threads)
            return trained(model, X, Y, told, label_features=label_features, checkpoint=at)

        return tuple(
            stages.made(f"{name}{i}", Model, partial(make, i))  # type: ignore[type-abstract]
            for i in range(len(self.models))
        )

    def estimate(self, X: Any, Y: Any, *, label_features: Any = None) -> Estimate | None:
        """What `fit` will take: all members, one after another; None if one of them does not say. Quick and rough."""
        X = as_features(X)
        Y = as_labels(Y, n_rows=int(X.shape[0]))
        parts = [estimated(with_threads(m.clone(), self.threads), X, Y, label_features) for m in self.models]
        found = [part for part in parts if part is not None]
        return together(found) if len(found) == len(parts) else None

    def _learn_curves(self, members: Sequence[Model], X: Csr, Y: Csr, told: dict[str, Any]) -> tuple[Curve, ...]:
        curves = []
        for member in members:
            top = asked(member, X, self.candidates, told, threads=self.threads)
            there = top.labels >= 0
            curves.append(Curve.learn(top.scores[there], is_right(top.labels, Y)[there]))
        return tuple(curves)

    def predict(self, X: Any, k: int = 10, *, texts: Any = None) -> TopK:
        """The k best labels of each row, of all that some member proposes."""
        self._require_fitted()
        k = check_k(k)
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        check_texts(texts, n)
        if n <= CHUNK:
            return self._predict(X, k, rows_of(texts, np.arange(n)))
        X = for_scipy(as_features(X))  # a pool of candidates takes some 40 bytes each: not of all rows at once
        spans = [np.arange(first, min(first + CHUNK, n)) for first in range(0, n, CHUNK)]
        parts = [self._predict(X[rows[0] : rows[-1] + 1], k, rows_of(texts, rows)) for rows in spans]
        labels, scores = np.concatenate([p.labels for p in parts]), np.concatenate([p.scores for p in parts])
        return TopK(labels, scores, self.n_labels)

    def _predict(self, X: Any, k: int, told: dict[str, Any]) -> TopK:
        pool, mean = self.pool(X, max(k, self.candidates), told)
        return pool.best(mean, k, threads=self.threads)

    def pool(self, X: Any, wide: int, told: dict[str, Any]) -> tuple[Pool, Array]:
        """All that some member proposes, and what the members together say of it."""
        members = self.members
        found = [asked(member, X, wide, told, threads=self.threads) for member in members]
        pool = Pool.of(found)
        total = np.zeros(len(pool), np.float64)
        for i, (member, top) in enumerate(zip(members, found, strict=True)):
            scores, missing = pool.scores_of(top)
            able = can_score(member)
            if able and missing.any():
                scores[missing] = scores_of(member, X, pool.pairs(missing), told)
            total += self._worth(i, pool, scores, None if able else missing)
        return pool, total / len(members)

    def explain(self, x: Any, label: int, *, texts: Any = None, label_counts: Any = None) -> Explanation:
        """Why row `x` gets label number `label`, or why not: the explanation of every member.

        `texts` is a list of the row's text, for members that read it.
        """
        check_texts(texts, 1)
        return explain_ensemble(self, x, label, rows_of(texts, np.arange(1)), label_counts)

    def _worth(self, i: int, pool: Pool, scores: Array, unknown: Array | None) -> Array:
        """What a member's scores count; nothing where it is not known."""
        if self.combine == "reciprocal-rank":
            return reciprocal_ranks(pool, scores, unknown)
        worth = self._curves[i](scores) if self._curves else scores
        return worth if unknown is None else np.where(unknown, 0, worth)

    def score(self, X: Any, labels: Any, *, texts: Any = None) -> Csr:
        """Scores of given labels: `labels` is n×L, its stored entries say which labels of each row to score."""
        members = self.members
        if self.combine == "reciprocal-rank":
            raise InputError("reciprocal ranks of given labels mean nothing; use combine='mean' to score labels")
        for member in members:
            if not can_score(member):
                raise InputError(f"{type(member).__name__} cannot score given labels, so neither can the ensemble")
        n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        wanted = for_scipy(as_pairs(labels, n_rows=n, n_labels=self.n_labels))
        total = np.zeros(wanted.nnz, np.float64)
        for i, member in enumerate(members):
            found = scores_of(member, X, wanted, rows_of(texts, np.arange(n)))
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
        if not number.isdecimal() or int(number) >= len(self.models) or not rest:
            raise ParameterError(
                f"{name} must name a member by its number, 0 to {len(self.models) - 1}, and a parameter"
            )
        return self.models[int(number)], rest

    def to_state(self) -> State:
        """For the store."""
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
            if (np.diff(curve.scores) < 0).any():
                raise StoreError("the scores of an Ensemble's curve must rise")
            curves.append(curve)
        try:
            _check_alike(members)
        except InputError as error:
            raise StoreError(str(error)) from None
        out._members, out._curves = members, tuple(curves)
        return out


def _check_alike(members: Sequence[Model]) -> None:
    sizes = sorted({member.n_labels for member in members})
    if len(sizes) != 1:
        raise InputError(f"the members of an ensemble must know the same labels; they have {sizes}")
