"""What can be called of models, index builders, encoders and the vectoriser: parameters, and methods of fitted ones."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

import xtrellis as xt
from xtrellis.model import Embeds, Explains, Scores

from .common import Wrong
from .store import GOLDEN, TEXTS, check_top
from .targets import AMOUNTS, Target, check_csr, large, same
from .world import World


def model_targets(world: World) -> list[Target]:
    found: list[Target] = []
    for name, use in configured(world).items():
        found += parameters(name, use)
    for name, model in fitted(world).items():
        found += methods(world, name, model)
    return found


def configured(world: World) -> dict[str, Callable[..., Any]]:
    """Classes with parameters, and how an object is used once it was made: what it is good for, on small data."""
    X, Y = world.X, world.Y

    def used(model: Any) -> None:
        check_top(model.fit(X, Y).predict(X, k=3), 24)

    def in_tree(index: Any) -> None:
        used(xt.LinearTree(index=index, threads=1))

    def with_encoder(encoder: Any) -> None:
        used(xt.EncoderOvA(encoder=encoder, epochs=1, threads=1, device="cpu"))

    uses: dict[str, Callable[..., Any]] = {
        "LinearTree": used,
        "SoftmaxTree": used,
        "Reranked": used,
        "Ensemble": used,
        "BalancedTree": in_tree,
        "KMeansTree": in_tree,
        "InterpolatedTree": in_tree,
        "HuffmanTree": in_tree,
        "FlatTree": in_tree,
        "GivenTree": in_tree,
        "Overlap": lambda overlap: used(world.tree(overlap=overlap)),
        "Ranker": lambda ranker: used(xt.Reranked(base=world.tree(), ranker=ranker, threads=1)),
        "Vectorizer": lambda vectorizer: check_csr(vectorizer.fit_transform(TEXTS)),
    }
    if not world.quick:
        uses |= dict.fromkeys(("Glas", "Elias", "EncoderOvA", "XTransformer"), used)
        uses |= {"BagEncoder": with_encoder, "TransformerEncoder": lambda encoder: None}
    return uses


def parameters(name: str, use: Callable[..., Any]) -> list[Target]:
    cls = getattr(xt, name)
    quick = {
        "epochs": 1,
        "max_epochs": 3,
        "dim": 4,
        "candidates": 3,
        "calibration_rows": 10,
        "min_leaf": 2,
        "iterations": 2,
        "device": "cpu",
    }
    base = {p: v for p, v in quick.items() if p in cls._params}

    def made(**given: Any) -> None:
        thing = cls(**{**base, **given})
        repr(thing)
        thing.clone()
        if not any(p in AMOUNTS and large(v) for p, v in given.items()):
            use(thing)

    def changed(**given: Any) -> None:
        thing = cls(**base)
        before = thing.get_params()
        try:
            thing.set_params(**given)
        except xt.XtrellisError:
            if repr(thing.get_params()) != repr(before):
                raise Wrong("set_params changed something and then refused") from None
            raise

    def spelled(name: Any, text: Any) -> None:
        cls(**base).set_from_text(name, text)

    found = [
        Target(f"{name}.set_from_text", spelled, {"name": next(iter(cls._params), "x"), "text": "1"}, only_text=True)
    ]
    for p in cls._params:
        value = getattr(cls(**base), p)
        found += [Target(name, made, {p: value}), Target(f"{name}.set_params", changed, {p: value})]
    return found


def fitted(world: World) -> dict[str, Any]:
    """Golden models answer without being trained here."""
    models = {
        "LinearTree": world.tree().fit(world.X, world.Y),
        "LinearTree with overlap": world.tree(overlap=xt.Overlap(), n_trees=2).fit(world.X, world.Y),
        "SoftmaxTree": xt.SoftmaxTree(dim=4, epochs=1, threads=1).fit(world.X, world.Y),
    }
    for name in ("glas", "glas-codes", "elias", "encoder-ova", "x-transformer", "reranked", "ensemble"):
        model = xt.load(GOLDEN / name / "model")
        models[type(model).__name__ + (" with codes" if name == "glas-codes" else "")] = model
    return models


def methods(world: World, name: str, model: Any) -> list[Target]:
    width = 6 if "Tree" in name else 14  # golden models have other data
    n_labels = model.n_labels
    X = sp.csr_array(np.round(np.random.default_rng(1).random((3, width)), 2).astype(np.float32))
    texts = ["a", "b", "c"]
    expected = model.predict(X, k=2)
    trains = not world.quick or width == 6
    params = model.get_params(deep=False)

    def unchanged() -> None:
        same(model.predict(X, k=2), expected, name)

    def fit(**given: Any) -> None:
        if "epochs" in params:  # as few as possible
            check_top(model.clone().set_params(epochs=1).fit(**given).predict(given["X"], k=1), world.Y.shape[0])
            return
        again = copy.copy(model)
        try:
            again.fit(**given)
        except xt.XtrellisError:
            same(again.predict(X, k=2), expected, f"{name}, whose training was refused,")
            raise
        check_top(again.predict(given["X"], k=1), world.Y.shape[0])

    found = [
        Target(
            f"{name}.predict",
            model.predict,
            {"X": X, "k": 2, "texts": texts},
            lambda answer: check_top(answer, len(answer)),
            unchanged,
        ),
        Target(
            f"{name}.predict one",
            model.predict,
            {"X": X[[0]], "k": 2},
            lambda answer: check_top(answer, len(answer)),
        ),
        Target(f"{name}.save", model.save, {"path": world.out / "m"}, after=unchanged),
        Target(
            f"{name}.estimate",
            model.clone().estimate,
            {"X": world.X, "Y": world.Y, "label_names": world.names, "label_features": None},
        ),
    ]
    if trains:
        given = {
            "X": world.X,
            "Y": world.Y,
            "texts": None,
            "label_names": world.names,
            "label_features": None,
            "checkpoint": None,
        }
        # A vector for each feature: so many of them are no mistake, but more than the memory holds.
        vast = ("csr of 2**31 - 1 columns",) if isinstance(model, Embeds) or name == "SoftmaxTree" else ()
        found.append(Target(f"{name}.fit", fit, given, after=unchanged, without=vast))
    if "labels" in inspect.signature(model.predict).parameters:
        found.append(
            Target(
                f"{name}.predict",
                model.predict,
                {"X": X, "k": 2, "labels": [0, 2]},
                lambda answer: check_top(answer, len(answer)),
                unchanged,
            )
        )
    if isinstance(model, Scores):
        pairs = sp.csr_array(np.ones((3, n_labels), np.float32))
        found.append(
            Target(f"{name}.score", model.score, {"X": X, "labels": pairs, "texts": texts}, check_csr, unchanged)
        )
    if isinstance(model, Explains):
        row = {"x": X[[0]], "label": 1, "texts": ["a"], "label_counts": np.arange(n_labels)}
        found.append(Target(f"{name}.explain", model.explain, row, lambda why: why.to_dict(), unchanged))
    if isinstance(model, Embeds):
        found.append(Target(f"{name}.embed", model.embed, {"X": X, "texts": texts}, after=unchanged))
    for p in ("beam", "search", "slack", "threads"):
        if p in params:
            then = partial(asked, model, X, p)
            found.append(Target(f"{name} then {p}", then, {p: params[p]}, after=unchanged))
    return found


def asked(model: Any, X: Any, p: str, **given: Any) -> None:
    """A parameter that counts in search is changed on a fitted model."""
    other = copy.copy(model)
    setattr(other, p, given[p])
    check_top(other.predict(X, k=2), 3)
