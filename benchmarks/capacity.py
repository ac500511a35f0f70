"""How far prices are from the best placing of labels in clusters of limited size, where that can be found exactly.

python benchmarks/capacity.py [problems]
"""

from __future__ import annotations

import sys

import numpy as np
from common import record

from xtrellis.index.capacity import Wishes, exact, priced


def problem(seed: int) -> tuple[Wishes, int, int]:
    """Random wishes, some clusters wanted by many, counts with a long tail: (wishes, copies, limit)."""
    dice = np.random.default_rng(seed)
    labels, clusters, copies = int(dice.integers(50, 400)), int(dice.integers(4, 30)), int(dice.integers(1, 4))
    sizes = dice.integers(1, min(clusters, 12) + 1, labels)
    liked = dice.dirichlet(np.full(clusters, 0.5)) + 1e-3
    wanted = [dice.choice(clusters, size, replace=False, p=liked / liked.sum()) for size in sizes]
    counts = [np.sort(dice.zipf(1.6, size).clip(max=500))[::-1] for size in sizes]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    wishes = Wishes(
        offsets, np.concatenate(wanted).astype(np.int32), np.concatenate(counts).astype(np.int32), clusters
    )  # fmt: skip
    return wishes, copies, int(np.ceil(labels * copies / clusters * dice.uniform(1, 2)))


def main() -> None:
    problems = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    gaps, bounds = [], []
    for seed in range(problems):
        wishes, copies, limit = problem(seed)
        best = wishes.counts[exact(wishes, copies, limit)].sum()
        taken, bound = priced(wishes, copies, limit)
        gaps.append(100 * (1 - wishes.counts[taken].sum() / best))
        bounds.append(100 * (1 - wishes.counts[taken].sum() / bound))
    told = {
        "gap_percent": {"mean": float(np.mean(gaps)), "worst": float(np.max(gaps))},
        "bound_percent": {"mean": float(np.mean(bounds)), "worst": float(np.max(bounds))},
    }
    print(problems, told)
    record("capacity", task="prices", problems=problems, **told)


if __name__ == "__main__":
    main()
