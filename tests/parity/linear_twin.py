"""What the kernels of linear trees should compute, in plain NumPy."""

from __future__ import annotations

import heapq

import numpy as np


def route(Y, tree, scheme="teacher", reached=None):
    """For every node: {row: children of the node that hold a label of the row}; all rows are at the root.

    `reached` says for every row which nodes search holds for it.
    """
    owner, node_slot = tree.owner, tree.node_slot
    offsets, slots = tree.label_slots
    positives = [{} for _ in range(tree.n_nodes)]
    for row in range(Y.shape[0]):
        positives[0][row] = set()
        for label in Y.indices[Y.indptr[row] : Y.indptr[row + 1]]:
            for slot in slots[offsets[label] : offsets[label + 1]]:
                while slot >= 0:
                    node = owner[slot]
                    positives[node].setdefault(row, set()).add(int(slot - tree.offsets[node]))
                    slot = node_slot[node]
    if scheme == "teacher":
        return positives
    held = [{row for row in range(Y.shape[0]) if v in reached[row] or v == 0} for v in range(tree.n_nodes)]
    if scheme == "both":
        held = [rows | set(there) for rows, there in zip(held, positives, strict=True)]
    return [{row: positives[v].get(row, set()) for row in rows} for v, rows in enumerate(held)]


def held_nodes(weights, x, beam):
    """The nodes that beam search holds for one dense row, over all levels."""
    tree = weights.tree
    W, biases = dense_weights(weights)
    logs = log_score(weights.transform, x @ W + biases)
    level, held = [(0.0, 0)], {0}
    while level:
        below = []
        for score, node in level:
            slots = range(tree.offsets[node], tree.offsets[node + 1])
            below += [(score + logs[s], int(tree.children[s])) for s in slots if tree.children[s] >= 0]
        level = sorted(below, key=lambda pair: (-pair[0], pair[1]))[:beam]
        held |= {node for _, node in level}
    return held


def pifa(X, Y):
    V = (Y.T @ X).toarray().astype(np.float64)
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    return np.divide(V, lengths, out=np.zeros_like(V), where=lengths > 0)


def dense_weights(packed):
    """n_features × n_slots, and the biases, from the packed blocks."""
    tree = packed.tree
    W = np.zeros((packed.n_features, tree.n_slots))
    for node in range(tree.n_nodes):
        for b in range(packed.blocks[node], packed.blocks[node + 1]):
            first = tree.offsets[node] + 256 * (b - packed.blocks[node])
            features, starts, children, weights = packed.block(b)
            for row, feature in enumerate(features):
                for e in range(starts[row], starts[row + 1]):
                    W[feature, first + children[e]] = weights[e]
    return W, packed.arrays["biases"].astype(np.float64)


def log_score(transform, z):
    if transform == "sigmoid":
        return -np.logaddexp(0, -z)
    gap = np.maximum(0, 1 - z)
    return -(gap**3) if transform == "l3-hinge" else -(gap**2)


def slot_logs(packed, x):
    """The logarithm of every slot's own score for one dense row."""
    W, biases = dense_weights(packed)
    return log_score(packed.transform, x @ W + biases)


def all_scores(packed, x):
    """The exact score of every label: the product along its path, of several paths the best."""
    tree, logs = packed.tree, slot_logs(packed, x)
    out = np.full(tree.n_labels, -np.inf)
    offsets, slots = tree.label_slots
    for label in range(tree.n_labels):
        for slot in slots[offsets[label] : offsets[label + 1]]:
            total = 0.0
            while slot >= 0:
                total += logs[slot]
                slot = tree.node_slot[tree.owner[slot]]
            out[label] = max(out[label], total)
    return np.exp(out)


def beam_search(packed, x, beam, k):
    """Level by level for one dense row; returns (labels, scores), best first."""
    tree = packed.tree
    logs = slot_logs(packed, x)
    level, found = [(0.0, 0)], {}
    while level:
        reached = []
        for score, node in level:
            for slot in range(tree.offsets[node], tree.offsets[node + 1]):
                child = int(tree.children[slot])
                if child < 0:
                    found.setdefault(~child, []).append(score + logs[slot])
                else:
                    reached.append((score + logs[slot], child))
        level = sorted(reached, key=lambda pair: (-pair[0], pair[1]))[:beam]
    best = sorted(((max(s), label) for label, s in found.items()), key=lambda pair: (-pair[0], pair[1]))[:k]
    return [label for _, label in best], np.exp([score for score, _ in best])


def best_first(packed, x, beam, k):
    """Best node first for one dense row, at most `beam` of a depth; returns (labels, scores), best first."""
    tree, logs = packed.tree, slot_logs(packed, x)
    queue, expanded, found = [(-0.0, 0, 0)], {}, {}  # (-score, node, depth)
    while queue:
        cost, node, depth = heapq.heappop(queue)
        if len(found) >= k and -cost < sorted(found.values())[-k]:
            break
        expanded[depth] = expanded.get(depth, 0) + 1
        if beam and expanded[depth] > beam:
            continue
        for slot in range(tree.offsets[node], tree.offsets[node + 1]):
            child, score = int(tree.children[slot]), logs[slot] - cost
            if child < 0:
                found[~child] = max(score, found.get(~child, -np.inf))
            else:
                heapq.heappush(queue, (-score, child, depth + 1))
    best = sorted((-score, label) for label, score in found.items())[:k]
    return [label for _, label in best], np.exp([-cost for cost, _ in best])


def squared_hinge_objective(w, b, X, y, cost_positive, cost_negative):
    """Primal, with the bias regularised like every weight."""
    cost = np.where(y > 0, cost_positive, cost_negative)
    return 0.5 * (w @ w + b * b) + np.sum(cost * np.maximum(0, 1 - y * (X @ w + b)) ** 2)
