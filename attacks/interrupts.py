"""Ctrl-C at a random moment of short and long calls.

The call must end in KeyboardInterrupt soon (the page tells how soon), not in another error and not as if nothing had
been; what was there before must be as it was, and the next call must work.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.core import progress

from .children import Child
from .common import Attack, Case, Fault, Wrong

BOUND = 10.0  # seconds from the signal to the end of the call, on a machine that others use too


class Task(NamedTuple):
    """`call` is what is interrupted; `after` then looks whether all is well. The signal comes within `span` s."""

    span: float
    call: Callable[[], object]
    after: Callable[[], object]


class Interrupts(Attack):
    name = "interrupts"
    workers = 1
    limit = 120.0

    def prepare(self) -> None:
        progress.listen(None).__enter__()
        self.place = self.folder / "place"
        quick = bool(os.environ.get("ATTACK_QUICK"))
        scale = 8 if quick else 1
        data = xt.synthetic(n_rows=20_000 // scale, n_labels=3_000 // scale, n_features=20_000 // scale, seed=0)
        self.X = cast(Any, data.X)
        self.Y = cast(Any, data.Y)
        self.small = sp.csr_array(np.round(np.random.default_rng(0).random((30, 9)), 2)), sp.csr_array(np.eye(30, 6))
        self.model: Any = xt.preset("xr-linear", threads=2, max_epochs=2).fit(self.X, self.Y)
        self.expected = self.model.predict(self.X[:50], k=3)
        self.old = xt.LinearTree(seed=1, threads=1).fit(*self.small)
        self.stored = self.folder / "stored"
        self.model.save(self.stored / "model")
        xt.write(data, self.stored / "data.txt")
        words = np.array([f"w{i}x" for i in range(20_000)])
        rows = np.random.default_rng(1).integers(0, len(words), (30_000 // scale, 20))
        texts = [" ".join(row) for row in words[rows]]
        self.texts = texts
        (self.stored / "data.csv").write_text("text,labels\n" + "".join(f"{text},a;b\n" for text in texts))
        if not quick:
            import sklearn.tree  # noqa: F401 - here, so that no child waits for it
            import torch  # noqa: F401
        self.tasks = {name: task for name, task in self.all_tasks().items() if not quick or name in QUICK}

    def all_tasks(self) -> dict[str, Task]:
        X, Y, model = self.X, self.Y, self.model
        params: dict[str, dict[str, Any]] = {
            "xr-linear": {},
            "one-vs-all": {},
            "bonsai": {},
            "overlap": {},
            "interpolated": {},
            "softmax-tree": {"epochs": 20},
            "xr-linear++": {},
            "glas": {"dim": 64},
            "elias": {"encoder__dim": 32},
            "x-transformer": {"encoder__dim": 32},
        }
        tasks = {}
        for name, given in params.items():
            for threads in (1, 2):
                fresh = xt.preset(name, threads=threads, **given)
                tasks[f"fit {name}" + (" on one thread" if threads == 1 else "")] = Task(
                    4.0, partial(fresh.fit, X, Y), partial(self.not_fitted, fresh)
                )
        again = xt.load(self.stored / "model")
        tasks["fit again"] = Task(2.0, lambda: again.fit(X, Y), lambda: self.as_before(again))
        wide = xt.LinearTree(index=xt.FlatTree(), max_epochs=1, threads=2)
        wide.fit(X[:500], Y[:500])
        tasks["predict"] = Task(2.0, lambda: model.predict(X, k=10), lambda: self.as_before(model))
        tasks["predict one-vs-all"] = Task(2.0, lambda: wide.predict(X, k=10), lambda: self.as_before(model))
        tasks["predict single rows"] = Task(
            1.0, lambda: [model.predict(X[[i]], k=5) for i in range(3000)], lambda: self.as_before(model)
        )
        tasks["explain"] = Task(
            1.0, lambda: [model.explain(X[[i]], i) for i in range(100)], lambda: self.as_before(model)
        )
        tasks["evaluate"] = Task(
            1.0,
            lambda: [xt.evaluate(Y, sp.csr_array(Y), ["P@1", "PSP@3"], train_labels=Y) for _ in range(50)],
            self.works,
        )
        tasks["vectorize"] = Task(
            3.0, lambda: xt.Vectorizer(ngrams=2, char_ngrams="3-5", threads=2).fit_transform(self.texts), self.works
        )
        for file in ("data.txt", "data.csv"):
            tasks[f"read {file}"] = Task(1.0, partial(self.reads, self.stored / file), self.works)
        tasks["write"] = Task(1.0, self.writes, self.written)
        tasks["save"] = Task(1.0, self.saves, self.saved)
        tasks["load"] = Task(1.0, lambda: [xt.load(self.stored / "model", verify=True) for _ in range(200)], self.works)
        tasks["synthetic"] = Task(1.0, lambda: xt.synthetic(n_rows=60_000, n_labels=3_000), self.works)
        return tasks

    # ── after it ────────────────────────────────────────────────────────────────────────────────────────────────────

    def works(self) -> None:
        """Training and asking something small, with threads."""
        model = xt.LinearTree(seed=1, threads=2).fit(*self.small)
        same(model.predict(self.small[0], k=3), self.old.predict(self.small[0], k=3))

    def as_before(self, model: Any) -> None:
        same(model.predict(self.X[:50], k=3), self.expected)

    def not_fitted(self, model: Any) -> None:
        """It was not trained before, so it is not now; it can be."""
        if model.fitted:
            raise Wrong("a model whose training was interrupted says that it is fitted")
        model.set_params(threads=1).fit(*self.small).predict(self.small[0], k=2)

    def reads(self, path: Path) -> None:
        for _ in range(20):
            xt.read(path)

    def saves(self) -> None:
        self.place.mkdir(exist_ok=True)
        for i in range(60):
            (self.model if i % 2 else self.old).save(self.place / "model")

    def saved(self) -> None:
        self.whole()
        self.old.save(self.place / "model")
        left = sorted(path.name for path in self.place.iterdir())
        if left != ["model"]:
            raise Wrong(f"after the next save there is {left}")

    def whole(self) -> None:
        if (self.place / "model").exists():
            found = xt.load(self.place / "model", verify=True)
            rows = self.small[0] if found.n_labels == self.old.n_labels else self.X[:50]
            same(
                found.predict(rows, k=3),
                (self.old if found.n_labels == self.old.n_labels else self.model).predict(rows, k=3),
            )

    def writes(self) -> None:
        data = xt.Dataset(self.X[:2000], self.Y[:2000])
        for i in range(30):
            xt.write(data, self.place / f"{i % 2}.txt.gz")

    def written(self) -> None:
        for path in self.place.glob("*"):
            if path.name not in ("0.txt.gz", "1.txt.gz"):
                raise Wrong(f"an unfinished file is left: {path.name}")
            if xt.read(path).n_rows != min(2000, self.X.shape[0]):
                raise Wrong(f"{path.name} is not whole")

    # ── cases ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def case(self, rng: random.Random, number: int) -> Case:
        name = rng.choice(sorted(self.tasks))
        task = self.tasks[name]
        delay = rng.uniform(0, task.span) * rng.choice((1, 1, 0.1, 0.01))
        return Case(name, f"SIGINT {delay:.4f} s after the beginning of: {name}", lambda: self.run(task, delay))

    def run(self, task: Task, delay: float) -> float:
        shutil.rmtree(self.place, ignore_errors=True)
        child = Child(lambda begin: interruptible(task, begin))
        try:
            child.begun()
            time.sleep(delay)
            sent = time.monotonic()
            child.send(signal.SIGINT)
            try:
                found = child.result(BOUND + 60)
            except TimeoutError:
                child.send(signal.SIGABRT)
                time.sleep(1)
                raise Fault("hang", f"no end {BOUND + 60:.0f} s after the signal") from None
        finally:
            child.end()
        if found is None:
            raise Fault("crash", "the process died of the interrupt")
        if "failed" in found:
            raise Fault("wrong", f"afterwards: {found['failed'].strip().splitlines()[-1]}")
        found = found["value"]
        if found["error"]:
            raise Fault("raw error", found["error"])
        if found["heard"] is None or found["heard"] > found["ended"]:
            return 0.0  # it came too late: the call had ended
        if not found["interrupted"]:
            raise Wrong("the interrupt was heard, but the call ended as if nothing had been")
        lag = float(found["ended"] - sent)
        if lag > BOUND:
            raise Fault("hang", f"KeyboardInterrupt came {lag:.1f} s after the signal")
        return lag


QUICK = {"fit xr-linear", "fit again", "predict", "read data.csv", "save", "load", "vectorize"}


def interruptible(task: Task, begin: Callable[[], None]) -> dict[str, Any]:
    """In the child: the call, and how it ended."""
    heard: list[float] = []
    armed = True

    def hear(*_: Any) -> None:
        heard.append(time.monotonic())
        if armed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hear)
    interrupted, error = False, ""
    begin()
    try:
        try:
            task.call()
        finally:
            armed = False
    except KeyboardInterrupt:
        interrupted = True
    except BaseException as other:
        error = f"{type(other).__name__}: {str(other)[:200]}"
    ended = time.monotonic()
    if interrupted:
        task.after()
    return {"interrupted": interrupted, "error": error, "heard": heard[0] if heard else None, "ended": ended}


def same(found: xt.TopK, expected: xt.TopK) -> None:
    if not (np.array_equal(found.labels, expected.labels) and np.array_equal(found.scores, expected.scores)):
        raise Wrong("afterwards the answer is another one")
