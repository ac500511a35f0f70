"""Models by name, with the settings under which the field knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .core import ParameterError, clear_calls, nearest, shown
from .model import Model

if TYPE_CHECKING:
    from .linear import LinearTree

EXCERPT = 80  # characters of each training text that neighbours keep, so that an explanation can show them
TITLE = 60  # characters of a text that may say what it is itself; more tell no more (held-out rows of mdn-seealso)

# Imports wait inside the functions: naming a preset must not load what other presets need.


def _tree(index: str, params: dict[str, Any], **more: Any) -> Callable[[], Model]:
    def make() -> Model:
        from . import index as builders
        from .linear import LinearTree

        return LinearTree(index=getattr(builders, index)(**params), **more)

    return make


def _overlap() -> LinearTree:
    from .index import BalancedTree, Overlap
    from .linear import LinearTree

    # The limit keeps frequent labels' clusters, which every beam holds, from drawing all rare labels to them. Clusters
    # begin smaller than elsewhere, so that with three places per label they do not become too large to search. The best
    # place counts: nearly as precise as the mean, in less time, since search may stop earlier. And a label that sits
    # where rows are led to is found with a narrower beam. A third place is paid for by weights of one byte and a
    # solver that stops sooner; all of it was chosen together on held-out rows, not one by one.
    overlap = Overlap(copies=3, max_cluster_size=150, merge="max", beam=5)
    index = BalancedTree(arity=32, max_leaf=50)
    return LinearTree(index=index, overlap=overlap, beam=6, tolerance=0.5, storage="int8")


def _neural(name: str) -> Callable[[], Model]:
    def make() -> Model:
        from . import neural

        model: Model = getattr(neural, name)()
        return model

    return make


def _x_transformer_overlap() -> Model:
    from .index import BalancedTree, Overlap
    from .neural import XTransformer

    tree = XTransformer().tree.clone().set_params(index=BalancedTree(arity=16, max_leaf=50), beam=7)
    return XTransformer(tree=tree.set_params(overlap=Overlap(copies=2, max_cluster_size=100, merge="max")))


def _reranked(base: Model) -> Model:
    from .rank import Reranked

    return Reranked(base=base)


def _ensemble(models: list[Model]) -> Model:
    from .rank import Ensemble

    return Ensemble(models=models)


def _names() -> Model:
    from .names import NameMatcher

    return NameMatcher()


def _title() -> Model:
    from .names import NameMatcher

    return NameMatcher(opening=TITLE)


def _witnesses(models: list[Model]) -> Model:
    from .rank import Ensemble

    # With a hundred labels of each, asking members for what only others propose gains nothing and costs two fifths of
    # the time; chosen on held-out rows of stackexchange and mdn-seealso.
    return Ensemble(models=models, combine="learned", candidates=100, score_missing=False, skip_unable=True)


def _best() -> Model:
    # Two places a label would take a sixth to a third of the tree's time less. On held-out rows of four small sets they
    # are better on one and worse on another (benchmarks/best_choice.py): the tree is the preset's own.
    return _witnesses([_overlap(), _neighbors(), _names(), _title()])


def _softmax_tree() -> Model:
    from .softmax import SoftmaxTree

    return SoftmaxTree()


def _neighbors() -> Model:
    from .neighbors import Neighbors

    return Neighbors(keep_texts=EXCERPT)


_PRESETS: dict[str, Callable[[], Model]] = {
    "best": _best,
    "bonsai": _tree("KMeansTree", {"k": 100, "depth": 3, "max_leaf": 100}),
    "elias": _neural("Elias"),
    "encoder-ova": _neural("EncoderOvA"),
    "glas": _neural("Glas"),
    "interpolated": _tree("InterpolatedTree", {}),
    "names": _names,
    "neighbors": _neighbors,
    "one-vs-all": _tree("FlatTree", {}),
    "overlap": _overlap,
    "parabel": _tree("BalancedTree", {"arity": 2, "max_leaf": 100}, transform="l2-hinge"),
    "softmax-tree": _softmax_tree,
    "title": _title,
    "x-transformer": _neural("XTransformer"),
    "x-transformer-overlap": _x_transformer_overlap,
    "xr-linear": _tree("BalancedTree", {"arity": 16, "max_leaf": 100}),
    "xr-linear++": lambda: _reranked(_PRESETS["xr-linear"]()),
}


@clear_calls
def presets() -> list[str]:
    """The names that `preset` knows."""
    return sorted(_PRESETS)


@clear_calls
def preset(name: str, **params: Any) -> Model:
    """A model by name; keyword arguments change its parameters (`index__arity=8` reaches into a part).

    `name++` is any of them re-ranked (`Reranked`), `name,name,…` an `Ensemble` of several, and `name+neighbors+names`
    one that learns how much each of them is worth (`best` is such).
    """
    if not isinstance(name, str):
        raise ParameterError(f"name must be the name of a preset, such as 'bonsai'; got {shown(name)}")
    return _named(name).set_params(**params)


def _named(name: str) -> Model:
    if name in _PRESETS:
        return _PRESETS[name]()
    if "," in name:
        return _ensemble([_named(member.strip()) for member in name.split(",")])
    witnesses = name.replace("++", "\0").split("+")  # xr-linear+++neighbors: the ranker's plus signs stay together
    if len(witnesses) > 1:
        return _witnesses([_named(witness.strip().replace("\0", "++")) for witness in witnesses])
    if name.endswith("++"):
        return _reranked(_named(name[:-2]))
    raise ParameterError(f"there is no preset {shown(name)}{nearest(name, _PRESETS)}")
