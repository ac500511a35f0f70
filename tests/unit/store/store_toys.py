"""Small storable classes. They check what they get, as real ones must."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from xtrellis.arrays.strings import StringTable
from xtrellis.core.checks import choice, integer, number, part
from xtrellis.core.config import Configured, param
from xtrellis.core.errors import StoreError
from xtrellis.store.state import State, Storable


class ToyIndex(Configured, ABC):
    """Abstract family of parts."""

    @abstractmethod
    def build(self): ...


class ToyTree(ToyIndex):
    arity: int = param(integer(at_least=2), default=2)

    def build(self):
        return self.arity


class Toy(Configured, Storable):
    beam: int = param(integer(at_least=1), default=10, role="search")
    cost: float = param(number(above=0, infinite=True), default=1.0)
    loss: str = param(choice("hinge", "logistic"), default="hinge")
    index: ToyIndex = param(part(ToyIndex), default=ToyTree())
    threads: int | None = param(integer(at_least=1, or_none=True), default=None, role="machine")

    from_store = False

    def loaded(self, params):
        assert len(self.names)  # all is there already
        self.from_store = True

    def fit(self, n=5, d=3, seed=0):
        rng = np.random.default_rng(seed)
        self.weights = rng.normal(size=(n, d)).astype(np.float32)
        self.ids = rng.integers(0, n, 7).astype(np.int32)
        self.names = StringTable.of([f"label {i}" for i in range(n)])
        return self

    def to_state(self):
        arrays = {"weights": self.weights, "ids": self.ids, **self.names.to_arrays("names")}
        return State({"n": len(self.weights)}, arrays)

    @classmethod
    def from_state(cls, params, state):
        self = cls(**params)
        self.weights, self.ids = state.arrays["weights"], state.arrays["ids"]
        if self.weights.dtype != np.float32 or self.weights.shape[0] != state.meta["n"] or self.weights.ndim != 2:
            raise StoreError("weights must be float32, n×d")
        if self.ids.dtype != np.int32 or ((self.ids < 0) | (self.ids >= state.meta["n"])).any():
            raise StoreError("ids must be int32, below n")
        self.names = StringTable.from_arrays(state.arrays, "names")
        if len(self.names) != state.meta["n"]:
            raise StoreError("there must be n names")
        return self

    def same(self, other):
        return (
            type(self) is type(other)
            and self == other
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.ids, other.ids)
            and self.names == other.names
        )


class Bag(Storable):
    """No parameters: any arrays, meta and parts."""

    def __init__(self, arrays=None, meta=None, parts=None):
        self.state = State(meta or {}, arrays or {}, parts or {})

    def to_state(self):
        return self.state

    @classmethod
    def from_state(cls, params, state):
        return cls(state.arrays, state.meta, state.parts)


class Picky(Bag):
    """Raises what its meta names when it is loaded."""

    @classmethod
    def from_state(cls, params, state):
        if state.meta["raise"] == "MissingExtraError":
            from xtrellis.core.errors import MissingExtraError

            raise MissingExtraError("torch", "deep", "this model")
        raise {e.__name__: e for e in (KeyError, TypeError, ValueError, RecursionError, MemoryError)}[
            state.meta["raise"]
        ]("from_state says so")
