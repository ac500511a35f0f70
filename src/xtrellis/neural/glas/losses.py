"""How wrong the scores of a batch are: one sampled label a row against the labels of the block that the row lacks.

Each function takes scores (rows × block), the place of every row's own label in the block, the places of all its labels
there, which are no negatives, and what the model's parameters say: the margin, how many hard negatives, how rarely
labels come into a block. It returns the sum over rows and negatives, as eq. 1 has it, so that the weight λ of a
regulariser means what it means in the paper; torch finds the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def own_and_others(scores: Any, positives: Any, known: tuple[Any, Any]) -> tuple[Any, Any]:
    """Scores of the sampled labels (rows × 1), and all scores with -inf for every label that the row has."""
    own = scores.gather(1, positives[:, None])
    return own, scores.index_put(known, scores.new_full((), -float("inf")))


def margin(scores: Any, positives: Any, known: tuple[Any, Any], *, gap: float, **_: Any) -> Any:
    """Sum over the negatives of [score of the negative − score of the label + gap]₊ (eq. 1)."""
    own, others = own_and_others(scores, positives, known)
    return (others - own + gap).relu().sum()


def negative_mining(scores: Any, positives: Any, known: tuple[Any, Any], *, gap: float, hardest: int, **_: Any) -> Any:
    """The same over only the hardest negatives of the block (Reddi et al. 2019)."""
    own, others = own_and_others(scores, positives, known)
    worst = others.topk(min(hardest, others.shape[1]), dim=1).values
    return (worst - own + gap).relu().sum()


def softmax(scores: Any, positives: Any, known: tuple[Any, Any], *, odds: Any, **_: Any) -> Any:
    """Cross-entropy of the sampled label among itself and all negatives, which those of the block stand for: `odds` is
    the logarithm of one in how many blocks has each label."""
    own, others = own_and_others(scores, positives, known)
    return (own.new_zeros(()) + _logaddexp(own[:, 0], (others + odds).logsumexp(1)) - own[:, 0]).sum()


def _logaddexp(a: Any, b: Any) -> Any:
    # Where there is no negative, b is -inf and its gradient must be 0, not NaN.
    gap = (b - a).clamp(min=-80.0)
    return a + gap.relu() + (-gap.abs()).exp().log1p()  # no overflow however far apart they are


LOSSES: dict[str, Callable[..., Any]] = {"margin": margin, "negative-mining": negative_mining, "softmax": softmax}
