"""Reading PECOS XR-Linear models: a folder of JSON and npz files becomes a `LinearTree` with the same answers.

    param.json
    ranker/param.json               depth, the numbers of features and labels
    ranker/0.model … (depth-1).model
        param.json                  bias, and for prediction: only_topk (the beam) and post_processor
        W.npz                       (features, then the bias feature) × children: a column of weights for each child
        C.npz                       children × clusters of the level above: which cluster a child belongs to

All leaves of such a tree lie at the same depth, and our nodes are numbered level by level, so children sorted by the
place of their parent are already in the order of our slots.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arrays import LARGEST_FEATURE, MAX_ID, Array, Float32, Int64, parts_of, ranges, read_saved
from ..core import InputError, StoreError, as_path, choice, clear_calls, progress, shown
from ..index import LabelTree
from ..linear import MAX_BLOCK, TRANSFORMS, LinearTree, PackedTree, PlainBlock

MAX_DEPTH = 64
NOWHERE = np.float32(-1e6)  # the margin of what PECOS never visits: its score is 0 under every transform
GROUP = 1 << 22  # weights that are put into order at once; bounds the memory beside the model itself


class Layer(NamedTuple):
    """One level as PECOS stores it."""

    W: Any  # csc, features (+ 1 with a bias) × children
    parents: Int64  # the cluster above each child; -1 for none
    n_clusters: int
    bias: float
    n_features: int
    topk: int
    post_processor: str


class PlacedLevel(NamedTuple):
    """The children of a level in the order of our slots."""

    columns: Int64  # of W; -1 for what PECOS never visits
    children: Int64  # their numbers in the layer; of the node that gathers the unvisited, the layer's size
    owners: Int64  # the place of each one's parent among the nodes of the level above


@clear_calls
def import_pecos(path: str | Path, *, transform: str | None = None) -> LinearTree:
    """The PECOS XR-Linear model in the folder `path`, which predicts here what it predicts there.

    `beam` becomes the beam that the model was saved with. `transform` replaces the saved post-processor, as PECOS's
    own `predict(post_processor=…)` does. Labels that PECOS left out of its clusters get score 0.
    """
    choice(*TRANSFORMS, or_none=True)("transform", transform)
    folder = _ranker_folder(as_path(path, error=StoreError))
    layers = _read_layers(folder)
    levels = _place(layers)
    tree = _tree(folder, levels, layers[-1].W.shape[1])
    transform = transform or _transform(folder, layers)
    blocks = [block for layer, level in zip(layers, levels, strict=True) for block in _blocks(layer, level)]
    model = LinearTree(transform=transform, bias=max(layers[0].bias, 0.0), beam=_beam(layers), storage="float32")
    model.normalize_rows = False  # its answers are to rows as they are
    biases = np.concatenate([own for _, own in blocks])
    plain = [block for block, _ in blocks]
    packed = PackedTree.pack(tree, plain, biases, layers[0].n_features, transform=transform, storage="float32")
    return LinearTree.of_trees([packed], model)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ranker_folder(path: Path) -> Path:
    """The folder with the levels: `path`/ranker, or `path` itself."""
    try:
        if not path.is_dir():
            raise StoreError(f"{path} is not a folder; give the folder that PECOS's XLinearModel.save wrote")
        for folder in (path / "ranker", path):
            if (folder / "0.model").is_dir():
                return folder
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise StoreError(f"{shown(str(path))} cannot be opened: {error.strerror or error}") from None
    raise StoreError(f"{path} is not a PECOS XR-Linear model: it has no folder ranker/0.model")


def _read_layers(folder: Path) -> list[Layer]:
    about = _read_json(folder / "param.json")
    _refuse_mapped(about, folder)
    depth = about.get("depth", len(list(folder.glob("*.model"))))
    if type(depth) is not int or not 1 <= depth <= MAX_DEPTH:
        raise StoreError(f"{folder / 'param.json'}: depth must be a number from 1 to {MAX_DEPTH}; got {shown(depth)}")
    layers: list[Layer] = []
    with progress.step("reading PECOS levels", total=depth, unit="levels") as advance:
        for d in range(depth):
            layers.append(_read_layer(folder / f"{d}.model"))
            advance(1)
    for d, (above, layer) in enumerate(pairwise(layers), 1):
        if layer.n_clusters != above.W.shape[1]:
            raise StoreError(
                f"{folder / f'{d}.model' / 'C.npz'} must have a column for each of the {above.W.shape[1]} children "
                f"of the level above; got {layer.n_clusters}"
            )
        if layer.n_features != above.n_features:
            raise StoreError(
                f"{folder}: all levels must have the same features; level {d - 1} has {above.n_features}, "
                f"level {d} has {layer.n_features}"
            )
    return layers


def _read_layer(folder: Path) -> Layer:
    about = _read_json(folder / "param.json")
    _refuse_mapped(about, folder)
    bias, settings = about.get("bias"), about.get("pred_kwargs")
    if isinstance(bias, bool) or not isinstance(bias, (int, float)) or not abs(bias) <= LARGEST_FEATURE:
        raise StoreError(
            f"{folder / 'param.json'}: bias must be a number within ±{LARGEST_FEATURE:g}; got {shown(bias)}"
        )
    if not isinstance(settings, dict):
        raise StoreError(f"{folder / 'param.json'}: pred_kwargs must be an object; got {shown(settings)}")
    topk, post_processor = settings.get("only_topk"), settings.get("post_processor")
    if type(topk) is not int or not 1 <= topk <= MAX_ID:
        raise StoreError(f"{folder / 'param.json'}: only_topk must be a number from 1; got {shown(topk)}")
    W, C = _read_matrix(folder / "W.npz", "csc"), _read_matrix(folder / "C.npz", "csr")
    n_features = int(W.shape[0]) - (bias > 0)
    if n_features < 0 or W.shape[1] < 1:
        raise StoreError(f"{folder / 'W.npz'} must be features × children, both at least 1; got {W.shape}")
    if C.shape[0] != W.shape[1]:
        raise StoreError(f"{folder}: C has {C.shape[0]} rows and W {W.shape[1]} columns; both must be the children")
    places = np.diff(C.indptr)  # what is stored counts, whatever its value: so PECOS reads it
    if places.max() > 1:
        child = int(np.argmax(places > 1))
        raise StoreError(
            f"{folder / 'C.npz'}: child {child} is in {places[child]} clusters; only models whose clusters do not "
            "overlap can be imported"
        )
    parents = np.full(C.shape[0], -1, np.int64)
    parents[places == 1] = C.indices
    return Layer(W, parents, int(C.shape[1]), float(bias), n_features, topk, str(post_processor))


def _refuse_mapped(about: dict[str, Any], folder: Path) -> None:
    if about.get("is_mmap"):
        raise StoreError(f"{folder} is compiled for memory mapping; import the npz model that it was compiled from")


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise StoreError(f"{path} is missing; a PECOS model has one beside each of its parts")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise StoreError(f"{path} must hold a JSON object; got {type(found).__name__}")
    return found


def _read_matrix(path: Path, wanted: str) -> Any:
    """A sparse matrix as checked csr or csc of float32 without duplicates."""
    if not path.is_file():
        raise StoreError(f"{path} is missing")
    try:
        with path.open("rb") as file:
            kind, arrays, shape = read_saved(file)
        parts = parts_of(kind, arrays, shape, "it", turned=wanted == "csc")
    except (InputError, OSError) as error:
        raise StoreError(f"{path}: {error}") from None
    with np.errstate(over="ignore"):
        matrix = parts._replace(data=parts.data.astype(np.float32)).to_scipy()
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise StoreError(f"{path} holds values that are not finite")
    return matrix.T if wanted == "csc" else matrix


def _transform(folder: Path, layers: list[Layer]) -> str:
    found = sorted({layer.post_processor for layer in layers})
    if len(found) == 1 and found[0] in TRANSFORMS:
        return found[0]
    raise StoreError(
        f"{folder}: the post-processor must be one of {', '.join(TRANSFORMS)}, the same on all levels; "
        f"got {', '.join(found)}. Import it under another one with transform='l3-hinge'"
    )


def _beam(layers: list[Layer]) -> int | None:
    """PECOS may keep another number of nodes on each level; the largest one finds what any of them finds."""
    kept = sorted({layer.topk for layer in layers[:-1]})
    if len(kept) > 1:
        progress.note(f"the levels' beams differ ({', '.join(map(str, kept))}); beam is the largest")
    return kept[-1] if kept else LinearTree().beam


# ── the tree ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _place(layers: list[Layer]) -> list[PlacedLevel]:
    """Every level's children in the order of our slots.

    Clusters that no label hangs below are left out, since a node of ours has children. Labels that hang nowhere are
    gathered below a chain of nodes of their own, as deep as the others: every label has a place in a `LabelTree`.
    """
    reachable, useful = _alive(layers)
    lost = ~reachable[-1]
    levels: list[PlacedLevel] = []
    place = np.zeros(1, np.int64)
    gathering = 0  # the place of the node above the lost labels
    for d, layer in enumerate(layers):
        kept = np.flatnonzero(reachable[d] & useful[d])
        # PECOS gives score 1 to every cluster above the first level, of which a file may announce any number.
        owners = place[layer.parents[kept]] if d else np.zeros(len(kept), np.int64)
        columns = kept
        if lost.any():
            extra = np.flatnonzero(lost) if layer is layers[-1] else np.array([len(layer.parents)])
            kept = np.concatenate([kept, extra])
            owners = np.concatenate([owners, np.full(len(extra), gathering)])
            columns = np.concatenate([columns, np.full(len(extra), -1)])
        order = np.lexsort((kept, owners))
        levels.append(PlacedLevel(columns[order], kept[order], owners[order]))
        place = np.full(len(layer.parents) + 1, -1, np.int64)
        place[kept[order]] = np.arange(len(kept))
        gathering = int(place[-1])
    if lost.any():
        progress.note(f"{int(lost.sum())} labels are in no cluster and get score 0")
    return levels


def _alive(layers: list[Layer]) -> tuple[list[Array], list[Array]]:
    """For each level, which children hang below the root, and which have a label below them (or are one)."""
    reachable: list[Array] = []
    for d, layer in enumerate(layers):
        hangs = layer.parents >= 0
        reachable.append(hangs & reachable[-1][np.maximum(layer.parents, 0)] if d else hangs)
    useful = [np.ones(len(layers[-1].parents), bool)]
    for below, above in zip(layers[:0:-1], layers[-2::-1], strict=True):
        holds = np.zeros(len(above.parents), bool)
        holds[below.parents[(below.parents >= 0) & useful[0]]] = True
        useful.insert(0, holds)
    dropped = sum(int((r & ~u).sum()) for r, u in zip(reachable, useful, strict=True))
    if dropped:
        progress.note(f"{dropped} clusters without labels are left out")
    return reachable, useful


def _tree(folder: Path, levels: list[PlacedLevel], n_labels: int) -> LabelTree:
    counts, children, n_owners, n_nodes = [], [], 1, 1
    for level in levels:
        counts.append(np.bincount(level.owners, minlength=n_owners))
        n_owners = len(level.owners)
        children.append(~level.children if level is levels[-1] else np.arange(n_nodes, n_nodes + n_owners))
        n_nodes += n_owners
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    try:
        return LabelTree(offsets, np.concatenate(children), n_labels)
    except InputError as error:
        raise StoreError(f"{folder} holds no tree: {error}") from None


# ── the weights ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _blocks(layer: Layer, level: PlacedLevel) -> Iterator[tuple[PlainBlock, Float32]]:
    """The level's weights by node, with their biases: columns of one child become rows of one feature."""
    n = len(level.owners)
    first = np.searchsorted(level.owners, level.owners)  # the first slot of each one's parent
    inside = np.arange(n) - first
    edges = np.append(
        np.flatnonzero(inside % MAX_BLOCK == 0), n
    )  # a block begins with a parent, and every 256 children
    begin = np.where(level.columns >= 0, layer.W.indptr[level.columns], 0)
    sizes = np.where(level.columns >= 0, np.diff(layer.W.indptr)[level.columns], 0)
    done = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    at = 0
    while at < len(edges) - 1:
        upto = max(at + 1, int(np.searchsorted(done[edges], done[edges[at]] + GROUP, side="right")) - 1)
        yield from _group(layer, level, edges[at : upto + 1], inside, begin, sizes)
        at = upto


def _group(
    layer: Layer, level: PlacedLevel, edges: Int64, inside: Int64, begin: Int64, sizes: Int64
) -> Iterator[tuple[PlainBlock, Float32]]:
    """The blocks between `edges`, which hold about GROUP weights together."""
    slots = slice(int(edges[0]), int(edges[-1]))
    columns, begin, sizes = level.columns[slots], begin[slots], sizes[slots]
    entries = ranges(begin, sizes)
    slot = np.repeat(np.arange(len(sizes)), sizes)
    features, values = layer.W.indices[entries].astype(np.int64), layer.W.data[entries]

    biases: Float32 = np.where(columns >= 0, np.float32(0), NOWHERE).astype(np.float32)
    is_bias = features == layer.n_features
    with np.errstate(over="ignore"):
        biases[slot[is_bias]] = values[is_bias] * np.float32(layer.bias)
    if not np.isfinite(biases).all():
        raise StoreError(f"the biases of a level, weights times {layer.bias:g}, are not finite in float32")
    kept = ~is_bias & (values != 0)
    slot, features, values = slot[kept], features[kept], values[kept]

    block = np.searchsorted(edges - edges[0], slot, side="right") - 1
    order = np.argsort(block * max(layer.n_features, 1) + features, kind="stable")  # stable: children ascend
    block, features, values = block[order], features[order].astype(np.int32), values[order]
    children = (inside[slots] % MAX_BLOCK)[slot[order]].astype(np.uint8)

    for b, (a, z) in enumerate(pairwise(np.searchsorted(block, np.arange(len(edges))).tolist())):
        found = features[a:z]
        starts = np.flatnonzero(np.concatenate([np.ones(min(1, z - a), bool), found[1:] != found[:-1]]))
        mine = biases[edges[b] - edges[0] : edges[b + 1] - edges[0]]
        yield (found[starts], np.append(starts, z - a).astype(np.uint32), children[a:z], values[a:z]), mine
