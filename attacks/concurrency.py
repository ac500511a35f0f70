"""Threads that predict, explain, load, save and train at once; everybody must get what one thread alone gets."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import progress
from xtrellis.model import Embeds, Explains, Scores

from .common import Attack, Case, Wrong
from .store import GOLDEN, TEXTS

Deed = Callable[[], Any]


class Concurrency(Attack):
    name = "concurrency"
    workers = 1  # its threads take the cores

    def prepare(self) -> None:
        progress.listen(None).__enter__()
        sys.setswitchinterval(1e-5)  # many changes of turn
        rng = np.random.default_rng(7)
        self.X = sp.csr_array(np.round(rng.random((40, 14)) * (rng.random((40, 14)) < 0.6), 2).astype(np.float32))
        self.Y = sp.csr_array((rng.random((40, 9)) < 0.25).astype(np.float32))
        self.models = {
            folder.name: xt.load(folder / "model")
            for folder in sorted(GOLDEN.iterdir())
            if "refused" not in json.loads((folder / "expected.json").read_text())
        }
        if os.environ.get("ATTACK_QUICK"):
            self.models = {name: model for name, model in self.models.items() if name.startswith(("linear", "tagger"))}
        self.deeds = {name: self.deeds_of(name, model) for name, model in self.models.items()}
        self.expected = {name: {deed: do() for deed, do in deeds.items()} for name, deeds in self.deeds.items()}
        self.place = self.folder / "shared"

    def deeds_of(self, name: str, model: Any) -> dict[str, Deed]:
        path, X = GOLDEN / name / "model", self.X
        loaded: dict[str, Deed] = {
            "load": lambda: ask(xt.load(path)),
            "load(verify)": lambda: ask(xt.load(path, verify=True)),
        }

        def ask(model: Any) -> Any:
            return top(model.predict(TEXTS * 5 if isinstance(model, xt.Tagger) else X, k=3))

        if isinstance(model, xt.Tagger):
            return {
                **loaded,
                "predict": lambda: ask(model),
                "tag": lambda: [model.tag(text, k=3) for text in TEXTS],
                "tag_many": lambda: model.tag_many(TEXTS * 3, k=2),
                "explain": lambda: model.explain(TEXTS[0], "pasta").to_dict(),
                "fit": lambda: top(model.clone().fit(TEXTS, [["a"], ["b"], [], ["a", "c"]]).predict(TEXTS, k=3)),
            }
        deeds = {
            **loaded,
            "predict": lambda: ask(model),
            "predict one": lambda: [top(model.predict(X[[i]], k=3)) for i in range(5)],
        }
        if isinstance(model, Explains):
            deeds["explain"] = lambda: [model.explain(X[[0]], label).to_dict() for label in (0, 3)]
        if isinstance(model, Scores):
            deeds["score"] = lambda: model.score(X, self.Y).data.tolist()
        if isinstance(model, Embeds):
            deeds["embed"] = lambda: model.embed(X).tolist()
        if name.startswith("linear-f"):
            deeds["fit"] = lambda: top(model.clone().fit(X, self.Y).predict(X, k=3))
        return deeds

    def case(self, rng: random.Random, number: int) -> Case:
        name = rng.choice(sorted(self.models))
        plans = [
            [rng.choice(sorted(self.deeds[name])) for _ in range(rng.choice((2, 3, 5)))]
            for _ in range(rng.choice((2, 3, 5)))
        ]
        if rng.random() < 0.4:
            others = [
                n
                for n in sorted(self.models)
                if isinstance(self.models[n], xt.Tagger) == isinstance(self.models[name], xt.Tagger)
            ]
            pair = (name, rng.choice(others))
            return Case(
                "save and load", f"{pair[0]} and {pair[1]} at one path", lambda: self.swap(pair, rng.randrange(2, 5))
            )
        return Case(name, f"{name}: {plans}", lambda: self.at_once(name, plans))

    def at_once(self, name: str, plans: list[list[str]]) -> None:
        def follow(plan: list[str]) -> None:
            for deed in plan:
                if not same(self.deeds[name][deed](), self.expected[name][deed]):
                    raise Wrong(f"{deed} of {name} gave something else than alone")

        together([lambda plan=plan: follow(plan) for plan in plans])  # type: ignore[misc]

    def swap(self, pair: tuple[str, str], readers: int) -> None:
        """Writers put two models in turn at one path; whoever loads it gets one of them, whole."""
        shutil.rmtree(self.place, ignore_errors=True)
        path = self.place / "model"
        self.models[pair[0]].save(path)
        whole = [self.expected[name]["predict"] for name in pair]

        def write(name: str) -> None:
            for _ in range(4):
                self.models[name].save(path)

        def read() -> None:
            for _ in range(6):
                model = xt.load(path, verify=True)
                found = top(model.predict(TEXTS * 5 if isinstance(model, xt.Tagger) else self.X, k=3))
                if not any(same(found, one) for one in whole):
                    raise Wrong("what was loaded is neither of the two models that were saved")

        together([*(lambda name=name: write(name) for name in pair), *[read] * readers])
        left = sorted(p.name for p in self.place.iterdir())
        if left != ["model"]:
            raise Wrong(f"beside the model there is {left}")


def together(deeds: list[Deed]) -> None:
    """Each on a thread of its own, begun at one moment; the first error is raised."""
    gate, errors = threading.Barrier(len(deeds)), []

    def run(deed: Deed) -> None:
        gate.wait()
        try:
            deed()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(deed,)) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if isinstance(error, xt.XtrellisError):  # nothing here is a reason to refuse
            raise Wrong(f"{type(error).__name__}: {error}") from error
        raise error


def top(found: xt.TopK) -> list[Any]:
    return [found.labels.tolist(), found.scores.tolist()]


def same(one: Any, two: Any) -> bool:
    return repr(one) == repr(two)
