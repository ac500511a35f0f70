"""`Explanation`: why a label got its score, as data: what each feature added to each classifier on the way to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import clear_calls
from .matches import NameMatch
from .neighbor import Neighbor
from .verdict import Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

Names = Sequence[str]


class Push(NamedTuple):
    """What one feature added to a margin: `contribution = value × weight`."""

    feature: int
    value: float
    weight: float
    contribution: float


FAINT = 1 / 2  # of a label's best path in a tree: search leaves lower ones out of a mean


def _merged(scores: list[float], merge: str) -> float:
    """What a label scores by its paths in one tree."""
    best = max(scores)
    counted = [score for score in scores if score >= FAINT * best] if merge == "mean" else [best]
    return sum(counted) / len(counted)


@dataclass(frozen=True)
class Step:
    """One classifier on the way: it judges whether the row belongs below `node`, or has the label itself."""

    node: int | None  # None: the step to the label
    labels: tuple[int, ...]  # a few typical labels below it, to tell what the cluster is about
    n_labels: int  # how many there are below it
    bias: float
    pushes: tuple[Push, ...]  # strongest first
    margin: float  # bias + contributions + vector
    log_score: float  # of this step alone
    path_log_score: float  # of all steps so far, and the edges between them: search ranks by it
    kept: bool  # search gets here with the model's beam
    rank: int | None  # 1 is best: a node among those of its level, a label among all found; None: never looked at
    rivals: int  # how many were ranked, this one included; 0 if none was
    edge_log_score: float | None = None  # of the learned edge that leads here; None where edges have no scores
    vector: float | None = None  # what an encoder's vector added as a whole; None if it is shared out among features
    group: str | None = None  # what the node is called, where a hierarchy was given; None if nobody has named it

    @property
    def score(self) -> float:
        """Of this step alone, between 0 and 1."""
        return math.exp(self.log_score)

    @property
    def edge_score(self) -> float | None:
        """Of the edge that leads here, between 0 and 1."""
        return None if self.edge_log_score is None else math.exp(self.edge_log_score)

    @property
    def path_score(self) -> float:
        """The product of the scores of all steps so far, and of the edges between them."""
        return math.exp(self.path_log_score)

    def to_dict(self, label_names: Names | None = None, feature_names: Names | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "node": self.node,
            **({} if self.group is None else {"group": self.group}),
            "labels": [{"label": label, **_name(label, label_names)} for label in self.labels],
            "n_labels": self.n_labels,
            "margin": self.margin,
            "score": self.score,
            **({} if self.edge_score is None else {"edge_score": self.edge_score}),
            "path_score": self.path_score,
            "kept": self.kept,
            "rank": self.rank,
            "rivals": self.rivals,
            "bias": self.bias,
            **({} if self.vector is None else {"vector": self.vector}),
            "features": [{**push._asdict(), **_name(push.feature, feature_names)} for push in self.pushes],
        }


@dataclass(frozen=True)
class Path:
    """One way from the root to the label; there may be several, since labels sit in several places and trees."""

    tree: int
    steps: tuple[Step, ...]

    @property
    def reached(self) -> bool:
        """True if search gets to the label on this way."""
        return all(step.kept for step in self.steps)

    @property
    def lost_at(self) -> int | None:
        """The number (from 0) of the step at which the beam left the label out; None if it was reached."""
        return next((i for i, step in enumerate(self.steps) if not step.kept), None)

    @property
    def score(self) -> float:
        """The product of all steps: what the label gets in this tree if search reaches it."""
        return self.steps[-1].path_score

    def to_dict(self, label_names: Names | None = None, feature_names: Names | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        steps = [step.to_dict(label_names, feature_names) for step in self.steps]
        return {
            "tree": self.tree,
            "reached": self.reached,
            "lost_at": self.lost_at,
            "score": self.score,
            "steps": steps,
        }


@dataclass(frozen=True)
class Opinion:
    """What a ranker said of the label when it looked at the candidates of the model below."""

    base_score: float  # p: what the model below answers
    bias: float
    pushes: tuple[Push, ...]  # strongest first
    margin: float  # bias + contributions + vector
    score: float  # q: of the ranker alone
    probability: float | None  # T: how often candidates with such scores are right; None without calibration
    among: bool  # the label is one of the candidates; if not, the ranker is not asked
    vector: float | None = None  # as in a Step

    def to_dict(self, feature_names: Names | None = None) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "base_score": self.base_score,
            "margin": self.margin,
            "score": self.score,
            "probability": self.probability,
            "among_candidates": self.among,
            "bias": self.bias,
            **({} if self.vector is None else {"vector": self.vector}),
            "features": [{**push._asdict(), **_name(push.feature, feature_names)} for push in self.pushes],
        }


@clear_calls
@dataclass(frozen=True)
class Explanation:
    """Why a label got its score for one row, or why it was not found."""

    label: int
    n_labels: int
    n_trees: int
    beam: int | None
    search: str  # how the model searches; with the same beam all ways find the same
    score: float  # what `predict` answers: a tree's paths merged, averaged over trees; 0 if it is reached in none
    rank: int | None  # among all labels that search finds; None if it does not find this one
    n_found: int
    paths: tuple[Path, ...]  # tree by tree, the path that counts first
    merge: str = "max"  # of several reached paths in one tree, the best counts, or their mean
    opinion: Opinion | None = None  # of a ranker; score, rank and n_found are then what came out in the end
    members: tuple[Explanation, ...] = ()  # of an ensemble; there are no paths then but theirs
    witnesses: tuple[str, ...] = ()  # what these members are called (`Model.witness`)
    shortlist: int | None = None  # of an index that asks only so many of the labels that the beam leads to
    more_paths: int = 0  # weaker ones that are left out of `paths`
    neighbors: tuple[Neighbor, ...] = ()  # where training rows vote (search="neighbors"); there are no paths then
    label_weight: float = 1.0  # that the score of paths, or the share of votes, is multiplied by: its frequency's
    verdict: Verdict | None = None  # how a blend made one probability of what its members say
    matches: tuple[NameMatch, ...] = ()  # where names are looked for (search="names"): the label's in the text

    @property
    def reached(self) -> bool:
        """True if search finds the label, in one tree at least."""
        return (
            any(path.reached for path in self.paths)
            or any(member.reached for member in self.members)
            or any(near.votes for near in self.neighbors)
            or len(self.matches) > 0
        )

    @property
    def deciding(self) -> tuple[Path, ...]:
        """The paths that count in each tree: the best one reached (or all reached that are not faint beside it, where
        their mean counts), or the best one if none was."""
        seen: dict[int, list[Path]] = {}
        for path in self.paths:
            mine = seen.setdefault(path.tree, [])
            if not mine or (self.merge == "mean" and path.reached and path.score >= FAINT * mine[0].score):
                mine.append(path)
        return tuple(path for mine in seen.values() for path in mine)

    @property
    def open_score(self) -> float:
        """The score if the beam left nothing out, as the model's `score` gives it; of an ensemble, the mean of its
        members'."""
        if self.verdict is not None:
            return self.verdict.probability
        if self.members:
            return sum(member.open_score for member in self.members) / len(self.members)
        if self.search in ("neighbors", "names"):
            return self.score
        scores: dict[int, list[float]] = {}
        for path in self.paths:
            scores.setdefault(path.tree, []).append(path.score)
        return self.label_weight * sum(_merged(found, self.merge) for found in scores.values()) / self.n_trees

    def pushes(self) -> dict[int, float]:
        """What each feature added to the margins of the deciding paths, summed along a path, averaged over paths.

        What it added to a ranker's margin counts too; of an ensemble, the mean over its members. Of neighbours, each
        one's part of the score is shared out by what the features added to its similarity: all add up to the score.
        """
        total: dict[int, float] = {}
        deciding = self.deciding
        for path in deciding:
            share = self.n_trees * sum(other.tree == path.tree for other in deciding)
            for step in path.steps:
                for push in step.pushes:
                    total[push.feature] = total.get(push.feature, 0.0) + push.contribution / share
        for near in self.neighbors:
            part = near.share * self.label_weight / near.similarity if near.votes and near.similarity else 0.0
            for shared in near.shared if near.votes else ():
                total[shared.feature] = total.get(shared.feature, 0.0) + part * shared.contribution
        for member in self.members:
            for feature, amount in member.pushes().items():
                total[feature] = total.get(feature, 0.0) + amount / len(self.members)
        for push in self.opinion.pushes if self.opinion is not None and self.opinion.among else ():
            total[push.feature] = total.get(push.feature, 0.0) + push.contribution
        return dict(sorted(total.items(), key=lambda item: (-abs(item[1]), item[0])))

    def name_pushes(self) -> Iterator[tuple[NameMatch, float]]:
        """Names that were found, and the score of each; of an ensemble, its part of the mean."""
        for match in self.matches:
            yield match, match.score
        for member in self.members:
            for match, amount in member.name_pushes():
                yield match, amount / len(self.members)

    def with_groups(self, name: Callable[[str], str]) -> Explanation:
        """The same with other names for the groups of a hierarchy: those of a vocabulary go by their ids first."""
        paths = tuple(
            replace(path, steps=tuple(replace(s, group=s.group and name(s.group)) for s in path.steps))
            for path in self.paths
        )
        return replace(self, paths=paths, members=tuple(member.with_groups(name) for member in self.members))

    def to_dict(self, label_names: Names | None = None, feature_names: Names | None = None) -> dict[str, Any]:
        """Plain data for JSON; with names, each id is followed by its name."""
        more: dict[str, Any] = {}
        if self.label_weight != 1:
            more["label_weight"] = self.label_weight
        if self.shortlist is not None:
            more |= {"shortlist": self.shortlist, "more_paths": self.more_paths}
        if self.search == "neighbors":
            more["neighbors"] = [near.to_dict(label_names, feature_names) for near in self.neighbors]
        if self.opinion is not None:
            more["opinion"] = self.opinion.to_dict(feature_names)
        if self.verdict is not None:
            more["verdict"] = self.verdict.to_dict()
        if self.matches:
            more["matches"] = [match.to_dict() for match in self.matches]
        if self.members:
            told = [member.to_dict(label_names, feature_names) for member in self.members]
            more["members"] = [{"witness": called, **member} for called, member in zip_longest(self.witnesses, told)]
        return {
            "label": self.label,
            **_name(self.label, label_names),
            "score": self.score,
            "rank": self.rank,
            "n_found": self.n_found,
            "reached": self.reached,
            "open_score": self.open_score,
            "merge": self.merge,
            "search": self.search,
            "beam": self.beam,
            "paths": [path.to_dict(label_names, feature_names) for path in self.paths],
            **more,
        }

    def render(
        self,
        label_names: Names | None = None,
        feature_names: Names | None = None,
        *,
        top: int = 10,
        compact: bool = False,
    ) -> RenderableType:
        """For a rich console: the path step by step, each with its `top` features (compact: on one line)."""
        from .view import View

        return View(self, label_names, feature_names, top=top, compact=compact)

    __rich__ = render


def _name(number: int, names: Names | None) -> dict[str, str]:
    return {} if names is None else {"name": names[number]}
