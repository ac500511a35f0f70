"""The classes a model folder may name: those of the library, and those that the program at hand has registered. Nothing
else is ever imported or built because a file says so."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, TypeVar

from ..core import Configured, InputError, StoreError, clear_calls, nearest, shown
from .state import Storable

# Class name -> "module:attribute". Strings, so that loading a model imports only what that model is made of.
CLASSES = {
    "Blend": "xtrellis.rank:Blend",
    "Calibration": "xtrellis.rank:Calibration",
    "Classifiers": "xtrellis.rank:Classifiers",
    "Elias": "xtrellis.neural:Elias",
    "EncoderOvA": "xtrellis.neural:EncoderOvA",
    "Ensemble": "xtrellis.rank:Ensemble",
    "Glas": "xtrellis.neural:Glas",
    "KeptRows": "xtrellis.tagger:KeptRows",
    "LabelIndex": "xtrellis.neural:LabelIndex",
    "LabelTree": "xtrellis.index:LabelTree",
    "LinearTree": "xtrellis.linear:LinearTree",
    "NameMatcher": "xtrellis.names:NameMatcher",
    "Neighbors": "xtrellis.neighbors:Neighbors",
    "PackedTree": "xtrellis.linear:PackedTree",
    "Probabilities": "xtrellis.rank:Probabilities",
    "Reranked": "xtrellis.rank:Reranked",
    "RowSegment": "xtrellis.neighbors:RowSegment",
    "SoftmaxNetwork": "xtrellis.softmax:SoftmaxNetwork",
    "SoftmaxTree": "xtrellis.softmax:SoftmaxTree",
    "SymmetricTrees": "xtrellis.rank:SymmetricTrees",
    "Tagger": "xtrellis.tagger:Tagger",
    "Vectorizer": "xtrellis.text:Vectorizer",
    "Vocabulary": "xtrellis.vocabulary:Vocabulary",
    "XTransformer": "xtrellis.neural:XTransformer",
}


_registered: dict[str, type[Storable]] = {}  # by programs, for this process
T = TypeVar("T", bound=type)


@clear_calls
def register(cls: T) -> T:
    """Let models of this class be saved and loaded: `@xt.register` above a class of your own.

    A model folder names its class and nothing more, so whoever loads it must have imported the module that registers
    the class. `from_state` must check whatever `predict` will trust. Index builders and encoders need no registering:
    they are known by name once they are imported.
    """
    known: Any = cls
    if not isinstance(known, type) or not issubclass(known, Storable):
        if isinstance(known, type) and issubclass(known, Configured):
            return cls
        raise InputError(f"register takes a class of models, such as one derived from xt.Model; got {shown(cls)}")
    name = known.__name__
    if name in CLASSES or _registered.get(name, known).__qualname__ != known.__qualname__:
        raise InputError(f"there is a class {name!r} in the store already; give yours another name")
    if inspect.isabstract(known):
        missing = ", ".join(sorted(known.__abstractmethods__))
        raise InputError(f"{name} cannot be stored yet: it lacks {missing}")
    _registered[name] = known
    return cls


def resolve(name: str) -> type[Storable]:
    """The class a stored name stands for."""
    if name in _registered:
        return _registered[name]
    place = CLASSES.get(name)
    if place is None:
        raise StoreError(
            f"class {name!r:.80} is not one this version of xtrellis can load"
            f"{nearest(name, [*CLASSES, *_registered])}; if it is your own, import the module that does xt.register "
            "first"
        )
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, Storable)):
        raise TypeError(f"{place} is registered as {name!r} but is not a Storable class")
    return found


def name_of(obj: Storable) -> str:
    """The name `obj` is stored under; refuses what could not be loaded again."""
    name = type(obj).__name__
    if (name not in CLASSES and name not in _registered) or resolve(name) is not type(obj):
        raise StoreError(
            f"{type(obj).__module__}.{name} cannot be saved: its class is not registered; put @xt.register above it"
        )
    return name
