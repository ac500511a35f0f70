"""The classes a model folder may name. Nothing else is ever imported or built because a file says so."""

from __future__ import annotations

from importlib import import_module

from ..core import StoreError, nearest
from .state import Storable

# Class name -> "module:attribute". Strings, so that loading a model imports only what that model is made of.
CLASSES = {
    "Calibration": "xtrellis.rank:Calibration",
    "Classifiers": "xtrellis.rank:Classifiers",
    "Elias": "xtrellis.neural:Elias",
    "EncoderOvA": "xtrellis.neural:EncoderOvA",
    "Ensemble": "xtrellis.rank:Ensemble",
    "Glas": "xtrellis.neural:Glas",
    "LabelIndex": "xtrellis.neural:LabelIndex",
    "LabelTree": "xtrellis.index:LabelTree",
    "LinearTree": "xtrellis.linear:LinearTree",
    "PackedTree": "xtrellis.linear:PackedTree",
    "Reranked": "xtrellis.rank:Reranked",
    "SoftmaxNetwork": "xtrellis.softmax:SoftmaxNetwork",
    "SoftmaxTree": "xtrellis.softmax:SoftmaxTree",
    "Tagger": "xtrellis.tagger:Tagger",
    "Vectorizer": "xtrellis.text:Vectorizer",
    "XTransformer": "xtrellis.neural:XTransformer",
}


def resolve(name: str) -> type[Storable]:
    """The class a stored name stands for."""
    place = CLASSES.get(name)
    if place is None:
        raise StoreError(f"class {name!r} is not one this version of xtrellis can load{nearest(name, CLASSES)}")
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module), attribute)
    if not (isinstance(found, type) and issubclass(found, Storable)):
        raise TypeError(f"{place} is registered as {name!r} but is not a Storable class")
    return found


def name_of(obj: Storable) -> str:
    """The name `obj` is stored under; refuses what could not be loaded again."""
    name = type(obj).__name__
    if name not in CLASSES or resolve(name) is not type(obj):
        raise StoreError(f"{type(obj).__module__}.{name} cannot be saved: it is not in xtrellis.store.registry.CLASSES")
    return name
