"""Odd values (`odd.py`) for every argument of every public function, constructor and method (`world.py`).

First each value for each argument, in an order that the seed shuffles, then two or three arguments at once. Right are
an error of the library's own, or an answer that is valid; a model that refused something must answer as before.
"""

from __future__ import annotations

import inspect
import os
import random
from typing import Any

import xtrellis as xt
from xtrellis.core import progress

from .common import Attack, Case
from .odd import ODD
from .targets import AMOUNTS, Target, large
from .world import World
from .world_models import model_targets


class Door(Attack):
    name = "door"

    def prepare(self) -> None:
        progress.listen(None).__enter__()
        os.chdir(self.folder)  # a path of '' or 'x' stays here
        self.world = World(self.folder)
        self.targets = [*self.world.targets(), *model_targets(self.world)]
        pairs = [(t, argument, odd) for t in self.targets for argument in t.valid for odd in t.odd(argument)]
        random.Random(self.seed).shuffle(pairs)
        self.pairs = pairs

    def case(self, rng: random.Random, number: int) -> Case:
        if number < len(self.pairs):
            target, argument, odd = self.pairs[number]
            chosen = {argument: odd}
        else:
            target = rng.choice(self.targets)
            names = rng.sample(sorted(target.valid), min(len(target.valid), rng.choice((2, 2, 3))))
            chosen = {name: rng.choice(target.odd(name)) for name in names}
        return Case(
            target.name.partition(".")[0], f"{target.name}({shown(chosen)})", lambda: self.run(target, chosen, rng)
        )

    def run(self, target: Target, chosen: dict[str, str], rng: random.Random) -> None:
        self.world.clean()
        arguments = dict(target.valid)
        for name, odd in chosen.items():
            try:
                arguments[name] = ODD[odd](target.valid[name])
            except Exception:  # this odd value cannot be made of that right one
                arguments[name] = None
            if (
                name in AMOUNTS
                and large(arguments[name])
                and target.name.startswith(("synthetic", "metrics.bootstrap", "TopK"))
            ):
                return
        if rng.random() < 0.01:
            arguments["no_such_argument"] = 1
        try:
            answer = target.call(**arguments)
        except TypeError as error:
            if named_by_python(error, arguments):
                return
            raise
        except target.allowed:
            return
        except xt.XtrellisError:
            target.after()
            raise
        target.check(answer)
        target.after()


def shown(chosen: dict[str, str]) -> str:
    return ", ".join(f"{name}={odd}" for name, odd in chosen.items())


def named_by_python(error: TypeError, arguments: dict[str, Any]) -> bool:
    """Python's own complaint about a call, which names the argument: nothing of the library has run."""
    frames = inspect.getinnerframes(error.__traceback__) if error.__traceback__ else []
    inside = any("/xtrellis/" in frame.filename for frame in frames)
    return not inside and any(repr(name) in str(error) for name in arguments)
