"""`Blend`: how likely a label is right, given what several models say of it.

Of every pair (row, label) that a model proposes, each model says four things: its score, the rank among its own
answers, the score beside its best one for the row, and that best one. With the label's frequency they are the inputs
of small boosted trees, learned from rows that none of the models has seen. With all else alike, a better rank never
makes a label less likely, but of models that say so (`may_deny`); scores may count either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._native import rank as native
from ..arrays import Array, Float32, Float64, Int64, TopK, UInt8, is_right_pair
from ..core import StoreError, by_rows, generator
from ..model import Model, can_score
from ..store import State, Storable
from .boosting import Growth, SymmetricTrees
from .candidates import CHUNK, Candidates
from .members import asked, scores_of
from .trials import Trial

SAYS = 4  # what a member says of a pair: score, rank, score beside its best, its best
# How what is said may count. Score, rank and score beside the best tell much the same: with a rule for each of them
# none could correct another. On held-out rows the rule for ranks costs nothing, the others half a point of P@1.
MONOTONE, FREE = (0, -1, 0, 0), (0, 0, 0, 0)
UNKNOWN = np.float32(-1e30)  # of a pair that a member neither proposes nor can score
GROWTH = Growth(trees=120, depth=5, rate=0.06, l2=3.0, least=2.0)
CLEAR = 6  # ranks up to which every pair is learned from; of the rest, one in FAINT, which counts as many
FAINT = 20
# Rows are told again as if no training row had their labels, and count so much, if fewer than so many right pairs show
# what such labels are worth: where labels are rare, those of the rows that members have not seen do.
UNSEEN, ENOUGH = np.float32(0.2), 200
ALL_LABELS: UInt8 = np.zeros(0, np.uint8)
TIE = 0.01  # log-odds for a member's best answer, less for others: pairs that trees do not tell apart keep an order


class Blend(Storable):
    """Boosted trees over what members say, and the labels' frequencies."""

    def __init__(self, trees: SymmetricTrees, frequency: Float32, members: int, wide: int, ask: bool) -> None:
        self.trees, self.frequency = trees, frequency
        self.members, self.wide = members, wide  # beyond the first `wide` answers, ranks do not count
        self.ask = ask  # members score what only others propose

    @classmethod
    def learn(
        cls,
        trials: Iterable[Trial],
        frequency: Int64,
        *,
        wide: int,
        ask: bool,
        seed: int,
        threads: int | None,
        rule: tuple[int, ...] = MONOTONE,
    ) -> Blend:
        """From what members say of rows that they have not seen; `frequency`: of labels, for those who answer."""
        parts: list[tuple[Float32, Array, Float32]] = []
        unseen: list[tuple[Float32, Array, Float32]] = []
        members, monotone = 0, list[int]()
        for number, trial in enumerate(trials):
            members = len(trial.models)
            monotone = [sign for model in trial.models for sign in (FREE if model.may_deny else rule)]
            blend = cls(SymmetricTrees.constant(0.0), trial.frequency.astype(np.float32), members, wide, ask)
            pool = Candidates.of(trial.found)
            said = blend.said(trial.models, trial.found, pool, trial.data.X, trial.data.texts)
            parts.append(_sample(said, is_right_pair(pool.numbers, trial.data.Y), members, (seed, "faint", number)))
            answers = [top for top in trial.unseen if top is not None]
            if answers:
                pool = Candidates.of(answers)
                said = blend._said_of_unseen(trial, pool)
                hits = is_right_pair(pool.numbers, trial.data.Y)
                some = _sample(said, hits, members, (seed, "unseen", number))
                unseen.append((*some[:2], UNSEEN * some[2]))
        if sum(int(hits[said[:, -1] == 0].sum()) for said, hits, _ in parts) < ENOUGH:
            parts += unseen
        inputs, right, weights = zip(*parts, strict=True)
        trees = SymmetricTrees.learn(
            np.concatenate(inputs),
            np.concatenate(right),
            monotone=[*monotone, 0],
            weights=np.concatenate(weights),
            growth=GROWTH,
            threads=threads,
        )
        return cls(trees, frequency.astype(np.float32), members, wide, ask)

    def hear(
        self, models: Sequence[Model], X: Any, texts: Sequence[str] | None, wide: int, threads: int | None,
        labels: Any = None,
    ) -> tuple[Candidates, Float32]:  # fmt: skip
        """All pairs that some member proposes (among `labels`, if given), and what is said of them."""
        found = [asked(model, X, wide, texts, threads=threads, labels=labels) for model in models]
        pool = Candidates.of(found)
        return pool, self.said(models, found, pool, X, texts)

    def said(
        self, models: Sequence[Model], found: Sequence[TopK], pool: Candidates, X: Any, texts: Sequence[str] | None
    ) -> Float32:
        """What members say of pairs, given their answers: pairs × inputs."""
        out = np.empty((len(pool), len(models) * SAYS + 1), np.float32)
        rows = pool.numbers // pool.n_labels
        for i, (model, top) in enumerate(zip(models, found, strict=True)):
            scores, ranks, missing = pool.ranked(top, self.wide)
            if missing.any():
                asked_for = self.ask and can_score(model)
                scores[missing] = scores_of(model, X, pool.pairs(missing), texts) if asked_for else UNKNOWN
            best = np.where(top.labels[:, 0] >= 0, top.scores[:, 0], 0)[rows] if top.k else np.zeros(len(pool))
            beside = np.divide(scores, best, out=scores - best, where=best > 0)
            for j, column in enumerate((scores, ranks, beside, best)):
                out[:, i * SAYS + j] = column
        out[:, -1] = self.frequency[pool.numbers % pool.n_labels]
        return out

    def _said_of_unseen(self, trial: Trial, pool: Candidates) -> Float32:
        """What is said of labels that no row has: most members know nothing of them but the row's other labels."""
        found = [top if answer is None else answer for top, answer in zip(trial.found, trial.unseen, strict=True)]
        said = self.said(trial.models, found, pool, trial.data.X, trial.data.texts)
        for i, answer in enumerate(trial.unseen):
            if answer is None:
                score, rank, beside, best = (said[:, i * SAYS + j] for j in range(SAYS))
                score[:], rank[:] = UNKNOWN, self.wide + 1
                beside[:] = np.divide(UNKNOWN, best, out=UNKNOWN - best, where=best > 0)
        said[:, -1] = 0
        return said

    def for_labels(self, frequency: Int64) -> Blend:
        """The same trees for labels of other frequencies, and perhaps more of them."""
        return Blend(self.trees, frequency.astype(np.float32), self.members, self.wide, self.ask)

    def together(self, found: Sequence[TopK], k: int, *, threads: int | None, allowed: UInt8 = ALL_LABELS) -> TopK:
        """The k most probable of what members answered; they are not asked for more. `allowed` has 1 for each label
        that may be answered: what is said of those does not depend on the others."""
        labels = np.ascontiguousarray(np.concatenate([top.labels for top in found], axis=1))
        scores = np.ascontiguousarray(np.concatenate([top.scores for top in found], axis=1))
        begins = np.cumsum([0, *(top.k for top in found)], dtype=np.int64)
        n, n_labels, trees = len(labels), found[0].n_labels, self.trees
        k = min(k, n_labels)
        out_labels, out_scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)

        def part(first: int, last: int) -> None:
            native.blend(
                labels, scores, begins, trees.feature, trees.threshold, trees.value, trees.base, self.frequency,
                self.wide, float(UNKNOWN), TIE, allowed, first, last, out_labels, out_scores,
            )  # fmt: skip

        by_rows(part, n, chunk=CHUNK, threads=threads)
        return TopK(out_labels, out_scores, n_labels)

    def probability(self, said: Float32, *, threads: int | None) -> Float32:
        """Of pairs."""
        odds = self.log_odds(said, threads=threads).astype(np.float64)
        return (1 / (1 + np.exp(-odds))).astype(np.float32)

    def log_odds(self, said: Float32, *, threads: int | None) -> Float32:
        """Of pairs: what the trees say, and a little for what members prefer."""
        odds = self.trees.log_odds(said, threads=threads).astype(np.float64)
        return np.asarray(odds + _preferred(said[:, :-1]).sum(axis=1), np.float32)

    def testimony(self, said: Float32) -> tuple[float, Float64, float]:
        """(base, what each member added, what the frequency added) to the log-odds of one pair."""
        base, added = self.trees.shares(said)
        by_member = added[:-1].reshape(self.members, SAYS).sum(axis=1)
        return base, by_member + _preferred(said[None, :-1])[0], float(added[-1])

    def spoken(self, said: Float32) -> list[tuple[float | None, int | None]]:
        """(score, rank) that each member gave one pair; None where it said nothing."""
        by_member = said[: self.members * SAYS].reshape(self.members, SAYS)
        return [
            (None if score == UNKNOWN else float(score), int(rank) if rank <= self.wide else None)
            for score, rank in by_member[:, :2]
        ]

    def to_state(self) -> State:
        """For the store."""
        return State(
            meta={"members": self.members, "wide": self.wide, "ask": self.ask},
            arrays={"frequency": self.frequency},
            parts={"trees": self.trees},
        )

    @classmethod
    def from_state(cls, params: Mapping[str, Any], state: State) -> Blend:
        """From the store."""
        members, wide = state.meta.get("members"), state.meta.get("wide")
        trees, frequency = state.parts.get("trees"), state.arrays.get("frequency")
        if not isinstance(trees, SymmetricTrees) or frequency is None or frequency.ndim != 1:
            raise StoreError("a blend needs trees and the frequencies of labels")
        if frequency.dtype != np.float32 or not np.isfinite(frequency).all():
            raise StoreError("a blend's frequencies must be finite, of type float32")
        if type(members) is not int or type(wide) is not int or not 1 <= members <= 1000 or not 1 <= wide <= 2**31:
            raise StoreError(f"a blend needs the number of its members and of their answers; got {members!r}, {wide!r}")
        ask = state.meta.get("ask")
        if type(ask) is not bool:
            raise StoreError(f"a blend knows whether members are asked: true or false; got {ask!r:.80}")
        if trees.n_inputs > members * SAYS + 1:
            raise StoreError(f"a blend of {members} members has {members * SAYS + 1} inputs; its trees ask for more")
        return cls(trees, frequency, members, wide, ask)


def _sample(said: Float32, hits: Array, members: int, purpose: tuple[Any, ...]) -> tuple[Float32, Array, Float32]:
    """(inputs, right, weights) of all pairs that are right or rank high, and some of the others."""
    faint = ~hits & (said[:, 1 : members * SAYS : SAYS].min(axis=1) > CLEAR)
    kept = ~faint | (generator(*purpose).random(len(said)) < 1 / FAINT)
    return said[kept], hits[kept], np.where(faint[kept], np.float32(FAINT), np.float32(1))


def _preferred(said: Float32) -> Float64:
    """pairs × members: what a member's preference adds beyond the trees."""
    return np.asarray(TIE * np.clip(said[:, 2::SAYS], 0, 1), np.float64)
