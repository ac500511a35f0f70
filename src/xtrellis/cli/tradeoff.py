"""`xtrellis train --tradeoff`: how much label frequencies count in the tree, given or chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import ParameterError

if TYPE_CHECKING:
    from ..data import TrainingData
    from ..model import Model
    from . import show
    from .train import Wanted


class Tradeoff:
    """`--tradeoff`: a number for the index of the model, or `auto` with its budgets."""

    def __init__(
        self, given: str | None, microseconds: float | None, depth: float | None, wanted: Wanted, *, resume: bool
    ) -> None:
        self.auto = given == "auto"
        self._microseconds, self._depth = microseconds, depth
        self._wanted = wanted
        if not self.auto and (microseconds is not None or depth is not None):
            raise ParameterError("--max-microseconds and --max-depth are budgets of --tradeoff auto; add that")
        if self.auto and resume:
            raise ParameterError("--tradeoff auto measures anew; with --resume give --tradeoff the number it chose")
        if given is not None and "index__tradeoff" not in wanted.tagger(with_texts=True).model.get_params(deep=True):
            raise ParameterError(f"--tradeoff is for trees that know of it; --preset {wanted.preset} has none")
        if given is not None and not self.auto:
            wanted.pairs.append(("index.tradeoff", given))
            wanted.tagger(with_texts=True)  # a wrong number is told before the data is read

    def choose(self, say: show.Say, model: Model, data: TrainingData) -> None:
        """Try, show, and set what was chosen: in this model and in those that `wanted` builds later."""
        from rich.table import Table

        from ..tuning import choose_tradeoff

        trials = choose_tradeoff(model, data, max_microseconds=self._microseconds, max_depth=self._depth)
        table = Table("tradeoff", "P@1", "depth@1", "µs per query", "")
        for trial in trials:
            numbers = (f"{trial.precision:.2f}", f"{trial.depth:.2f}", f"{trial.microseconds:.1f}")
            table.add_row(f"{trial.tradeoff:g}", *numbers, "chosen" if trial.chosen else "")
        say(table)
        chosen = next(trial.tradeoff for trial in trials if trial.chosen)
        model.set_params(index__tradeoff=chosen)
        self._wanted.pairs.append(("index.tradeoff", f"{chosen:g}"))
