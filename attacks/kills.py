"""SIGKILL at random moments of a training with a checkpoint, of a save, and of `xtrellis train`.

Afterwards the model folder is the old one or the new one, whole; and a training that goes on from its checkpoint,
perhaps after further kills, ends with the same bytes as one that nobody has disturbed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import xtrellis as xt
from xtrellis.cli import run as command
from xtrellis.core import progress

from .children import Child, in_child
from .common import Attack, Case, Wrong
from .data import dataset

Files = dict[str, bytes]


class Kills(Attack):
    name = "kills"
    workers = 1
    limit = 240.0

    def prepare(self) -> None:
        progress.listen(None).__enter__()
        import sklearn.tree  # noqa: F401 - here, so that no child waits for it

        self.quick = bool(os.environ.get("ATTACK_QUICK"))
        data = xt.synthetic(
            n_rows=300 if self.quick else 1500, n_labels=60 if self.quick else 300, n_features=800, seed=0
        )
        self.X = cast(Any, data.X)
        self.Y = cast(Any, data.Y)
        self.place = self.folder / "place"
        self.old = xt.LinearTree(seed=9, threads=1).fit(self.X[:50], self.Y[:50])
        self.old.save(self.folder / "old")
        self.before = contents(self.folder / "old")
        self.texts = self.folder / "data.jsonl"
        spoken = dataset(
            None,
            self.Y,
            texts=[" ".join(f"w{i}" for i in row.indices) for row in self.X],
            label_names=[f"l{i}" for i in range(data.n_labels)],
        )
        xt.write(spoken, self.texts)
        if not self.quick:
            import torch  # noqa: F401
        self.makers = self.all_makers()
        self.expected: dict[str, tuple[Files, float]] = {}  # what comes out undisturbed, and how long it takes

    def all_makers(self) -> dict[str, Callable[[], Any]]:
        """Trainings of about a second."""
        index = xt.BalancedTree(arity=4, max_leaf=10)
        bag = xt.BagEncoder(dim=16)
        neural: dict[str, Any] = {"epochs": 3, "seed": 1, "threads": 1, "device": "cpu"}
        makers: dict[str, Callable[[], Any]] = {
            "LinearTree": lambda: xt.LinearTree(index=index, seed=1, threads=2),
            "LinearTree with overlap": lambda: xt.LinearTree(
                index=index, overlap=xt.Overlap(rounds=2), seed=1, threads=2
            ),
            "LinearTree, several": lambda: xt.LinearTree(
                index=index, n_trees=3, negatives="both", seed=1, threads=2, memory_limit="1GB"
            ),
            "Reranked": lambda: xt.Reranked(base=xt.LinearTree(index=index), min_leaf=20, seed=1, threads=2),
            "Ensemble": lambda: xt.Ensemble(
                models=[xt.LinearTree(index=index), xt.LinearTree()], combine="calibrated", seed=1, threads=2
            ),
        }
        if not self.quick:
            makers |= {
                "Glas": lambda: xt.Glas(dim=16, **neural),
                "Elias": lambda: xt.Elias(encoder=bag, n_clusters=16, **neural),
                "EncoderOvA": lambda: xt.EncoderOvA(encoder=bag, **neural),
                "XTransformer": lambda: xt.XTransformer(encoder=bag, tree=xt.LinearTree(index=index), **neural),
            }
        return makers

    def case(self, rng: random.Random, number: int) -> Case:
        kind = rng.choice((*sorted(self.makers), "save", "save", "xtrellis train"))
        moments = [rng.random() * rng.choice((1.0, 1.0, 0.3)) for _ in range(rng.choice((1, 1, 2, 3)))]
        told = ", ".join(f"{moment:.3f}" for moment in moments)
        if kind == "save":
            return Case(kind, f"killed at {told} of 0.5 s of saves", lambda: self.saving(moments))
        if kind == "xtrellis train":
            return Case(kind, f"killed at {told} of its time, then --resume", lambda: self.training_program(moments))
        return Case(kind, f"{kind}: killed at {told} of its time, then gone on", lambda: self.training(kind, moments))

    # ── trainings ───────────────────────────────────────────────────────────────────────────────────────────────────

    def training(self, kind: str, moments: list[float]) -> None:
        def work(place: Path) -> None:
            model = self.makers[kind]()
            model.fit(self.X, self.Y, checkpoint=place / "work")
            model.save(place / "model")

        self.goes_on(kind, work, work, moments)

    def training_program(self, moments: list[float]) -> None:
        def work(place: Path, *more: str) -> None:
            code = command(
                ["train", str(self.texts), "--to", str(place / "model"), "--set", "index.max_leaf=10", "-q", *more]
            )
            if code:
                raise RuntimeError(f"xtrellis train ended with code {code}")

        self.goes_on("xtrellis train", work, lambda place: work(place, "--resume"), moments)

    def goes_on(
        self, kind: str, first: Callable[[Path], None], again: Callable[[Path], None], moments: list[float]
    ) -> None:
        expected, seconds = self.undisturbed(kind, first)
        self.fresh()
        for i, moment in enumerate(moments):
            work = again if i else first
            child = Child(lambda begin, work=work: (begin(), work(self.place)))  # type: ignore[misc]
            self.kill(child, moment * seconds, expected)
        in_child(lambda: again(self.place))
        found = contents(self.place / "model")
        if found != expected:
            odd = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
            raise Wrong(f"gone on, {kind} ends with other bytes in {odd[0]}")
        left = sorted(path.name for path in self.place.iterdir())
        if left != ["model"]:
            raise Wrong(f"beside the finished model of {kind} there is {left}")

    def kill(self, child: Child, after: float, expected: Files) -> None:
        """Some seconds after it has begun; the model is one of the two then."""
        try:
            child.begun()
            time.sleep(after)
        finally:
            child.send(signal.SIGKILL)
            child.end()
        self.old_or_new(expected)

    def undisturbed(self, kind: str, work: Callable[[Path], None]) -> tuple[Files, float]:
        if kind not in self.expected:
            self.fresh()
            began = time.monotonic()
            in_child(lambda: work(self.place))
            self.expected[kind] = contents(self.place / "model"), time.monotonic() - began
        return self.expected[kind]

    # ── saves ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def saving(self, moments: list[float]) -> None:
        """Two models are saved in turn at one path until the kill."""
        if "save" not in self.expected:
            self.other = xt.LinearTree(seed=3, threads=1).fit(self.X, self.Y)
            self.other.save(self.folder / "other")
            self.expected["save"] = contents(self.folder / "other"), 0.5
        expected, seconds = self.expected["save"]
        self.fresh()

        def work(begin: Callable[[], None]) -> None:
            begin()
            while True:
                for model in (self.other, self.old):
                    model.save(self.place / "model")

        for moment in moments:
            self.kill(Child(work), moment * seconds, expected)
        self.other.save(self.place / "model")
        if contents(self.place / "model") != expected or [path.name for path in self.place.iterdir()] != ["model"]:
            raise Wrong(f"after the next save there is {sorted(path.name for path in self.place.iterdir())}")

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def fresh(self) -> None:
        """A place with the old model."""
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.folder / "old", self.place / "model")

    def old_or_new(self, expected: Files) -> None:
        found = contents(self.place / "model")
        if found not in (self.before, expected):
            raise Wrong(f"after a kill the model folder is neither the old nor the new one: {sorted(found)}")
        xt.load(self.place / "model", verify=True)


def contents(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
