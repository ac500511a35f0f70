"""`Ensemble`: several models as one. What a member did not propose itself it is asked for, not held to score 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from ..arrays import (
    Array,
    Csr,
    Float32,
    Int64,
    TopK,
    as_features,
    as_pairs,
    as_texts,
    for_scipy,
    row_numbers,
)
from ..core import Configured, InputError, ParameterError, StoreError, choice, flag, generator, integer, key, param
from ..data import TrainingData
from ..explain import Explanation
from ..linear import LinearTree
from ..model import (
    Estimate,
    LabelSet,
    LeavesOut,
    Model,
    can_score,
    check_k,
    check_label_ids,
    label_mask,
    one_after_another,
    restricts,
)
from ..store import Stages, State, Storable
from .blend import Blend
from .candidates import Candidates, filled, reciprocal_ranks
from .explain import explain_ensemble
from .isotonic import Curve, learn_curves
from .living import LearnsOn
from .members import (
    asked,
    check_alike,
    fresh,
    model_parts,
    n_rows_of,
    scores_of,
    some_rows,
    trained,
    with_threads,
)
from .trials import FEWEST, Trial, trials, turns

if TYPE_CHECKING:
    from typing_extensions import Self

COMBINE = ("mean", "calibrated", "reciprocal-rank", "learned")
CHUNK = 8192  # rows whose candidates are pooled at once
LEARNING = 5  # seconds that it takes to learn a blend, roughly
CALIBRATION = 5000  # rows for calibration at most; never more than a tenth


class Ensemble(LearnsOn, Model):
    """What several models say together: the mean of scores, of what they are worth, of reciprocal ranks, or a blend.

    A blend (combine='learned') is learned from rows that the members have not seen: they are trained without some of
    the rows first, in as many turns as it takes to have enough, and at last on all. Its scores are probabilities.

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
        "mean of scores, of probabilities learned on held-out rows, of 1 / (60 + rank), or learned: probabilities by "
        "all that members say of a label",
        default="mean",
    )
    candidates: int = param(
        integer(at_least=1), "labels of a row that each member proposes", default=30, role="fit+search"
    )
    score_missing: bool = param(
        flag(),
        "ask members for scores of labels that only others propose; False: quicker, and with many candidates as good",
        default=True,
    )
    skip_unable: bool = param(
        flag(),
        "leave out members that the data has nothing for (texts, names of labels) instead of refusing",
        default=False,
    )

    _members: tuple[Model, ...] = ()
    _curves: tuple[Curve, ...] = ()
    _blend: Blend | None = None

    @classmethod
    def of(cls, members: Sequence[Model], *, validation: Any = None, texts: Any = None, **params: Any) -> Self:
        """An ensemble of models that are trained already. `validation` = (X, Y): rows that no member has seen."""
        out = cls(models=list(members), **params)
        if not all(member.fitted for member in members):
            raise InputError("Ensemble.of needs trained models; Ensemble(models=…).fit trains them")
        check_alike(members)
        if out.combine in ("calibrated", "learned"):
            if validation is None:
                raise InputError(f"combine={out.combine!r} needs validation=(X, Y), rows that no member has seen")
            if not isinstance(validation, (tuple, list)) or len(validation) != 2:
                raise InputError(f"validation must be a pair (X, Y); got {type(validation).__name__}")
            data = TrainingData.of(*validation, texts=texts)
            if data.n_labels != members[0].n_labels:
                raise InputError(f"Y has {data.n_labels} labels; the members know {members[0].n_labels}")
            if out.combine == "calibrated":
                out._curves = learn_curves(members, data, out.candidates, out.threads)
            else:
                found = [asked(m, data.X, out.candidates, data.texts, threads=out.threads) for m in members]
                out._blend = out._learn_blend([Trial(members, found, data.label_counts, data)], data.label_counts)
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
        """True if one of the members does, and cannot be left out."""
        if self._members:
            return any(model.reads_texts for model in self._members)
        return not self.skip_unable and any(model.reads_texts for model in self.models)

    def finds_something(self, texts: Sequence[str]) -> list[bool]:
        """Whether one of the members does: what a blend makes of silent witnesses is how frequent labels are."""
        return [any(said) for said in zip(*(model.finds_something(texts) for model in self.members), strict=True)]

    @property
    def uses_label_features(self) -> bool:
        """True if one of the members does."""
        return any(model.uses_label_features for model in self.models)

    @property
    def uses_engine(self) -> bool:
        return any(model.uses_engine for model in self.models)

    @property
    def uses_sample_weight(self) -> bool:
        """True if all of the members do."""
        return all(model.uses_sample_weight for model in self.models)

    @property
    def answers_probabilities(self) -> bool:
        """True if how to weigh members was learned."""
        return self._blend is not None

    @property
    def why_no_probabilities(self) -> str:
        """How many rows a blend takes, if there were fewer."""
        if self.combine != "learned" or self._blend is not None:
            return ""
        return f"how much its members are worth is learned from {FEWEST} training rows on, and it had fewer"

    def inner_models(self) -> Sequence[Model]:
        """The members."""
        return self.members

    def _train(self, data: TrainingData, checkpoint: Path | None) -> None:
        """Every member; before, without the rows that calibrate or teach the blend."""
        held = min(CALIBRATION, data.n_rows // 10)
        curves: tuple[Curve, ...] = ()
        blend: Blend | None = None
        with Stages(checkpoint, self.made_from(data) if checkpoint else {}) as stages:
            if self.combine == "calibrated" and held:
                order = generator(self.seed, "calibration").permutation(data.n_rows)
                trial = self._train_members(data.select(np.sort(order[held:])), stages, "trial")
                curves = learn_curves(trial, data.select(np.sort(order[:held])), self.candidates, self.threads)
            members = self._train_members(data, stages, "member")
            if self.combine == "learned" and data.n_rows >= FEWEST:
                blend = self._learn_blend(self.trials(data, members, stages), data.label_counts)
        self._members, self._curves, self._blend = members, curves, blend

    def trials(self, data: TrainingData, members: Sequence[Model], stages: Stages) -> Iterator[Trial]:
        """What members say of rows that they have not seen."""
        return trials(
            members, data, lambda rest, name, some: self._train_members(rest, stages, name, some),
            wide=self.candidates, again=self.score_missing, seed=self.seed, threads=self.threads,
        )  # fmt: skip

    def _learn_blend(self, found: Iterable[Trial], frequency: Int64) -> Blend:
        return Blend.learn(
            found, frequency, wide=self.candidates, ask=self.score_missing, seed=self.seed, threads=self.threads
        )

    def _train_members(
        self, data: TrainingData, stages: Stages, name: str, some: Sequence[int] | None = None
    ) -> tuple[Model, ...]:
        chosen = self._able(data)

        def make(i: int, at: Path | None) -> Model:
            return trained(fresh(chosen[i], seed=key(self.seed, "member", i) % 2**32, threads=self.threads), data, at)

        return tuple(
            stages.made(f"{name}{i}", Model, partial(make, i))  # type: ignore[type-abstract]
            for i in (range(len(chosen)) if some is None else some)
        )

    def _able(self, data: TrainingData) -> list[Model]:
        """The models that can be trained on the data."""
        if not self.skip_unable:
            return list(self.models)
        able = [m for m in self.models if not (m.reads_texts and data.texts is None)]
        able = [m for m in able if not (m.needs_label_names and data.label_names is None)]
        if not able:
            raise InputError("none of the ensemble's models can be trained on this data: it has no texts, or no names")
        return able

    def _estimate(self, data: TrainingData) -> Estimate:
        """All members, one after another; some of them again for a blend."""
        able = self._able(data)
        each = [with_threads(model.clone(), self.threads).estimate(data) for model in able]
        together = one_after_another(each)
        if self.combine != "learned":
            return together
        again = [one.seconds for one, model in zip(each, able, strict=True) if not isinstance(model, LeavesOut)]
        seconds = ceil((1 + turns(data.n_rows)) * sum(again)) + LEARNING if all(again) else 0
        return replace(together, seconds=seconds)

    def predict(self, X: Any, k: int = 10, *, texts: Sequence[str] | None = None, labels: Any = None) -> TopK:
        """The k best labels of each row, of all that some member proposes. `labels` (ids) restricts the answers.

        What is said of a label is the same with and without a restriction: members propose as ever. Rows that lack
        answers then are asked again, by members that look among these labels alone.
        """
        self._require_fitted()
        k = check_k(k)
        wanted = None if labels is None else check_label_ids(labels, self.n_labels)
        n = n_rows_of(X, texts)
        if n <= CHUNK:
            return self._predict(X, k, texts, wanted)
        # Candidates take some 40 bytes each: not of all rows at once.
        X, texts = None if X is None else as_features(X), None if texts is None else as_texts(texts, n_rows=n)
        parts = [
            self._predict(*some_rows(X, texts, np.arange(first, min(first + CHUNK, n)), k), wanted)
            for first in range(0, n, CHUNK)
        ]
        found, scores = np.concatenate([p.labels for p in parts]), np.concatenate([p.scores for p in parts])
        return TopK(found, scores, self.n_labels)

    def _predict(self, X: Any, k: int, texts: Sequence[str] | None, wanted: Int64 | LabelSet | None) -> TopK:
        top = self._best(X, k, texts, wanted, None)
        if wanted is None:
            return top
        top = TopK(top.labels[:, : len(wanted)], top.scores[:, : len(wanted)], top.n_labels)
        lacking = np.flatnonzero(top.labels[:, -1] < 0)
        if not len(lacking) or not any(restricts(member) for member in self.members):
            return top
        rows, _, said = some_rows(None if X is None else as_features(X), texts, lacking, k)
        return filled(top, lacking, self._best(rows, k, said, wanted, wanted))

    def _best(self, X: Any, k: int, texts: Sequence[str] | None, wanted: Any, proposed: Any) -> TopK:
        """The k best of what is `wanted`; members propose among the labels `proposed`, if these are given."""
        wide, allowed = max(k, self.candidates), label_mask(wanted, self.n_labels)
        if self._blend is not None and not self._blend.ask:
            found = [asked(m, X, wide, texts, threads=self.threads, labels=proposed) for m in self.members]
            return self._blend.together(found, k, threads=self.threads, allowed=allowed)
        plain = wanted is None and self.combine == "mean" and self.score_missing  # the same answers in less time:
        if plain and LinearTree.searched_as_one(trees := cast(list[LinearTree], self.members)):
            return LinearTree.predict_together(trees, X, k, most=wide, threads=self.threads)
        candidates, mean = self.gather(X, wide, texts, proposed)
        kept = candidates.among(allowed)
        return candidates.only(kept).best(mean[kept], k, threads=self.threads)

    def gather(self, X: Any, wide: int, texts: Sequence[str] | None, labels: Any = None) -> tuple[Candidates, Array]:
        """All that some member proposes, and what the members together say of it."""
        members = self.members
        if self._blend is not None:
            candidates, said = self._blend.hear(members, X, texts, wide, self.threads, labels)
            return candidates, self._blend.probability(said, threads=self.threads)
        found = [asked(member, X, wide, texts, threads=self.threads, labels=labels) for member in members]
        candidates = Candidates.of(found)
        total = np.zeros(len(candidates), np.float64)
        for i, (member, top) in enumerate(zip(members, found, strict=True)):
            scores, missing = candidates.scores_of(top)
            able = can_score(member)
            if able and self.score_missing and missing.any():
                scores[missing] = scores_of(member, X, candidates.pairs(missing), texts)
            total += self._worth(i, candidates, scores, None if able and self.score_missing else missing)
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
        wanted = for_scipy(as_pairs(labels, n_rows=n_rows_of(X, texts), n_labels=self.n_labels))
        if self._blend is not None:
            out = wanted.copy()
            out.data = self._blend.probability(self.testimony(X, wanted, texts), threads=self.threads)
            return out
        total = np.zeros(wanted.nnz, np.float64)
        for i, member in enumerate(members):
            found = scores_of(member, X, wanted, texts)
            total += self._curves[i](found) if self._curves else found
        out = wanted.copy()
        out.data = (total / len(members)).astype(np.float32)
        return out

    def testimony(self, X: Any, wanted: Csr, texts: Sequence[str] | None) -> Float32:
        """What members say of given pairs: pairs × inputs of the blend."""
        blend = cast(Blend, self._blend)
        found = [asked(member, X, self.candidates, texts, threads=self.threads) for member in self.members]
        pool = Candidates(row_numbers(wanted) * self.n_labels + wanted.indices, *wanted.shape)
        return blend.said(self.members, found, pool, X, texts)

    @property
    def blend(self) -> Blend | None:
        """How members are weighed, if that was learned."""
        return self._blend

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
        if self._blend is not None:
            parts["blend"] = self._blend
        return State(meta={"members": len(self._members), "curves": len(self._curves)}, arrays=arrays, parts=parts)

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Self:
        """From the store."""
        out = cls(**params)
        n, n_curves = state.meta.get("members"), state.meta.get("curves")
        blend = state.parts.get("blend")
        found = [state.parts.get(f"member{i}") for i in range(len(state.parts) - (blend is not None))]
        members = tuple(member for member in found if isinstance(member, Model))
        if not members or len(members) != len(found) or n != len(members) or n_curves not in (0, n):
            raise StoreError("an Ensemble needs as many models as it has members, and a curve for all or none")
        curves = []
        for i in range(n_curves):
            curve = Curve(*(state.arrays.get(f"{what}{i}", np.zeros(0)) for what in ("scores", "probabilities")))
            curve.check("an Ensemble")
            curves.append(curve)
        try:
            check_alike(members)
        except InputError as error:
            raise StoreError(str(error)) from None
        if blend is not None and not isinstance(blend, Blend):
            raise StoreError(f"the blend of an Ensemble must be a Blend; got {type(blend).__name__}")
        if blend is not None and (blend.members != n or len(blend.frequency) != members[0].n_labels):
            raise StoreError(f"an Ensemble of {n} members with {members[0].n_labels} labels has a blend of others")
        out._members, out._curves, out._blend = members, tuple(curves), blend
        return out
