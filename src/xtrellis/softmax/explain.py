"""Why a softmax tree gives a label its probability: at every node, the margin of the child that leads to it.

A margin is how much more the child scores than its siblings on average; it is a sum over the row's features, exactly.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array, Csr, Float64, Int64, assemble
from ..explain import TYPICAL, Explanation, Path, Step, rank_of, strongest
from ..index import LabelTree
from .network import SoftmaxNetwork


def explain(network: SoftmaxNetwork, row: Csr, label: int, label_counts: Int64 | None) -> Explanation:
    """Every path to `label`, the best first."""
    tree = network.tree
    with np.errstate(all="ignore"):  # a damaged model may hold anything
        weights, constant = _feature_weights(network, row)
        vectors = weights[:, None] * network.embeddings[row.indices]  # what each feature adds to the hidden vector
        offset = constant * network.embeddings[-1].astype(np.float64)
        offsets, slots = tree.label_slots
        paths = [
            _path(network, row, int(slot), vectors, offset, label_counts)
            for slot in slots[offsets[label] : offsets[label + 1]]
        ]
    top = network.search(row, tree.n_labels, threads=1)
    rank, score = rank_of(top.labels[0], top.scores[0], label)
    pair = assemble(np.ones(1, np.float32), np.array([label], np.int32), np.array([0, 1]), (1, tree.n_labels))
    return Explanation(
        label=label, n_labels=tree.n_labels, n_trees=1, beam=None, search="exact", rank=rank, n_found=tree.n_labels,
        score=score if rank else float(network.score(row, pair, threads=1).data[0]),
        paths=tuple(sorted(paths, key=lambda path: -path.steps[-1].path_log_score)),
    )  # fmt: skip


def _feature_weights(network: SoftmaxNetwork, row: Csr) -> tuple[Float64, float]:
    """What each feature's vector, and the constant one's, is multiplied by (native/softmax/shape.hpp)."""
    values, bias = row.data.astype(np.float64), network.bias
    if network.weighting == "unit":
        length = float(np.sqrt((row.data**2).sum()))  # in float32, whose limits the kernel has
        return (values / length, bias) if 0 < length < np.inf else (values, bias)
    plain = np.ones(len(values)) if network.weighting == "average" else values
    total = float(np.abs(plain).sum())
    if network.weighting == "weighted" and total > 0:
        bias *= total / len(values)
    scale = 1 / (total + bias) if total + bias > 0 else 0.0
    return plain * scale, bias * scale


def _path(
    network: SoftmaxNetwork, row: Csr, slot: int, vectors: Array, offset: Float64, label_counts: Int64 | None
) -> Path:
    """The way from the root to one place of a label."""
    tree, way = network.tree, [slot]
    while (above := int(tree.node_slot[tree.owner[way[-1]]])) >= 0:
        way.append(above)
    hidden = vectors.sum(axis=0) + offset
    offset = offset + vectors[row.data == 0].sum(axis=0)  # a plain mean counts entries of 0 too; they push nothing
    steps: list[Step] = []
    so_far = 0.0
    for at in reversed(way):
        node, child = int(tree.owner[at]), int(tree.children[at])
        place, arity = at - int(tree.offsets[node]), int(tree.offsets[node + 1] - tree.offsets[node])
        units = network.units_of(node)
        scores = units @ hidden
        logs = scores - np.logaddexp.reduce(scores)
        against = (units.sum(axis=0) - units[place]) / max(1, arity - 1)
        direction = units[place] - against
        so_far += float(logs[place])
        below = np.array([~child]) if child < 0 else tree.labels_below(child)
        steps.append(
            Step(
                node=None if child < 0 else child,
                labels=_typical(tree, below, label_counts),
                n_labels=len(below),
                bias=float(offset @ direction),
                pushes=strongest(row.indices, row.data, vectors @ direction),
                margin=float(hidden @ direction),
                log_score=float(logs[place]),
                path_log_score=so_far,
                kept=True,
                rank=1 + int((scores > scores[place]).sum()),
                rivals=arity,
                group=None if child < 0 else tree.name_of(child),
            )
        )
    return Path(0, tuple(steps))


def _typical(tree: LabelTree, labels: Int64, label_counts: Int64 | None) -> tuple[int, ...]:
    """The most frequent of some labels; if that is not known, those nearest to the root."""
    weight: Array = -tree.label_depths[labels] if label_counts is None else label_counts[labels]
    return tuple(labels[np.lexsort((labels, -weight))[:TYPICAL]].tolist())
