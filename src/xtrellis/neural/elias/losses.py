"""What ELIAS minimises over a shortlist (Gupta et al. 2022, eq. 7 and 8), with its gradient written down.

    p = σ(s) ŷ
    positive labels   −log p − λ log ŷ
    the others        −log(1 − p)              (eq. 7 as printed has (1 − log p) here, which is a slip)

By hand, since a shortlist of 2000 labels a row makes every further pass over rows × shortlist count.
"""

from __future__ import annotations

from functools import cache
from typing import Any


def shortlist_loss(torch: Any, scores: Any, logs: Any, positive: Any, weight: float) -> Any:
    """Sum over a shortlist, given s, log ŷ and which labels are the row's own; places without a label count nothing."""
    return _function(torch).apply(scores, logs, positive, weight)


def plain_loss(torch: Any, scores: Any, logs: Any, positive: Any, weight: float) -> Any:
    """The same by torch's own gradients."""
    own = torch.nn.functional.softplus(-scores) - (1 + weight) * logs
    other = -torch.log1p(-scores.sigmoid() * logs.exp())
    return torch.where(positive, own, other).sum()


@cache
def _function(torch: Any) -> Any:
    class Loss(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, scores: Any, logs: Any, positive: Any, weight: float) -> Any:
            sigma, y = scores.sigmoid(), logs.exp()
            rest = (-scores).sigmoid()
            q = (rest * y).add_(1).sub_(y).clamp_(min=1e-30)  # 1 − p, without cancellation near p = 1
            share = sigma.mul(y).div_(q)
            loss = -q.log().masked_fill_(positive, 0).sum()
            by_score = (share * rest).masked_scatter_(positive, -rest[positive])
            by_log = share.masked_fill_(positive, -1 - weight)
            own = torch.nn.functional.softplus(-scores[positive]) - (1 + weight) * logs[positive]
            context.save_for_backward(by_score, by_log)
            return loss + own.sum()

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            by_score, by_log = context.saved_tensors
            return by_score * gradient, by_log * gradient, None, None

    return Loss
