"""What members of an ensemble say of rows that they have not seen: what a blend is learned from.

Members are trained again without some of the rows, in as many turns as it takes to have enough. Those that can answer
for a training row as if it had not been there (`LeavesOut`: neighbours, names) need no second training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Int64, TopK
from ..core import generator
from ..data import TrainingData
from ..model import KnowsUnseen, LeavesOut, Model
from .members import asked

LEARNED = 5000  # rows that a blend is learned from, if there are so many: with fewer, precision at 1 suffers
# A turn leaves out a tenth of the rows at most, and there are five at most: with a fifth, in two turns, members answer
# worse than those that are trained on all rows in the end, and the blend trusts them too little.
FOLD, FOLDS = 10, 5
FEWEST = 200  # rows that are worth a blend: with fewer it learns noise


def turns(n_rows: int) -> int:
    """How often members are trained again, each time on nine tenths of the rows or more."""
    return max(1, min(FOLDS, round(LEARNED / max(1, min(LEARNED, n_rows // FOLD)))))


class Trial(NamedTuple):
    """Members, what they answered, how frequent labels were in their training, and the rows they were asked about."""

    models: Sequence[Model]
    found: Sequence[TopK]
    frequency: Int64
    data: TrainingData
    unseen: Sequence[TopK | None] = ()
    """What members answer if no training row has the labels; None: they cannot."""

    def of(self, some: Sequence[int]) -> Trial:
        """The same with some of the members."""
        return self._replace(
            models=[self.models[i] for i in some],
            found=[self.found[i] for i in some],
            unseen=[self.unseen[i] for i in some] if self.unseen else (),
        )


def trials(
    members: Sequence[Model],
    data: TrainingData,
    train: Callable[[TrainingData, str, Sequence[int]], Sequence[Model]],
    *,
    wide: int,
    again: bool,
    seed: int,
    threads: int | None,
) -> Iterator[Trial]:
    """`members` are trained on all of the data; `train(data, name, which)` trains some of them on a part of it.

    `again`: all of them, also those that could leave rows out (they are to score labels that others propose).
    """
    size = min(data.n_rows // FOLD, LEARNED)
    order = generator(seed, "blend").permutation(data.n_rows)
    able = [i for i, member in enumerate(members) if isinstance(member, LeavesOut) and not again]
    others = [i for i in range(len(members)) if i not in able]
    for turn in range(turns(data.n_rows) if others else 1):
        rows = np.sort(order[turn * size : (turn + 1) * size])
        held, rest = data.select(rows), data.select(np.setdiff1d(order, rows))
        models = list(members)
        for i, model in zip(others, train(rest, f"trial{turn}_", others), strict=True):
            models[i] = model
        found = []
        for model in models:
            if isinstance(model, LeavesOut) and not again:
                found.append(model.left_out(data, rows, wide))
            else:
                found.append(asked(model, held.X, wide, held.texts, threads=threads))
        # Members that are asked for labels which others propose have an opinion of unseen ones, too.
        unseen = [m.unseen(held, wide) if isinstance(m, KnowsUnseen) and not again else None for m in models]
        yield Trial(models, found, rest.label_counts, held, unseen)
