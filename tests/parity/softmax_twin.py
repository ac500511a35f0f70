"""Hierarchical softmax in plain NumPy, in float64: what native/softmax must agree with."""

from __future__ import annotations

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    with np.errstate(over="ignore"):
        x = x + np.uint64(GOLDEN)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def first_embeddings(key, rows, dim):
    """Uniform in ±1/dim, one number a value."""
    with np.errstate(over="ignore"):
        drawn = mix(np.uint64(key) + np.arange(rows * dim, dtype=np.uint64)) >> np.uint64(40)
    return ((drawn.astype(np.float64) * 2.0**-23 - 1) / dim).reshape(rows, dim)


def feature_weights(ids, values, weighting, bias, n_features):
    """(features with the constant one, their weights): the hidden vector is the weighted sum."""
    if weighting == "unit":
        length = np.sqrt(np.square(values, dtype=np.float64).sum()) or 1.0
        return [*ids, n_features], np.array([*(values / length), bias])
    plain = np.ones(len(ids)) if weighting == "average" else np.abs(values)
    constant = bias * (plain.mean() if len(ids) and plain.sum() > 0 else 1.0)
    total = plain.sum() + constant
    signed = np.ones(len(ids)) if weighting == "average" else np.asarray(values, float)
    return [*ids, n_features], np.array([*signed, constant]) / (total or np.inf)


def path(tree, slot):
    """(node, child) from the root down."""
    out = []
    while slot >= 0:
        node = int(tree.owner[slot])
        out.append((node, int(slot - tree.offsets[node])))
        slot = int(tree.node_slot[node])
    return out[::-1]


def child_probabilities(tree, begins, units, node, hidden):
    arity = int(tree.offsets[node + 1] - tree.offsets[node])
    if arity == 1:
        return np.ones(1)
    z = units[begins[node] : begins[node + 1]] @ hidden
    if arity == 2:
        first = 1 / (1 + np.exp(-z[0]))
        return np.array([first, 1 - first])
    e = np.exp(z - z.max())
    return e / e.sum()


def margins(tree, begins, units, slot, vector):
    """From the root down to a slot, how much more `vector` scores the child than its siblings on average.

    Linear in the vector: those of a row's parts add up to those of the row.
    """
    out = []
    for node, child in path(tree, slot):
        z = units[begins[node] : begins[node + 1]] @ vector
        z = np.concatenate([z, np.zeros(int(tree.offsets[node + 1] - tree.offsets[node]) - len(z))])
        others = np.delete(z, child)
        out.append(z[child] - others.mean() if len(others) else 0.0)
    return np.array(out)


def label_probabilities(tree, begins, units, hidden):
    """Of each label; of several places the best. Beside it, the sum over all places."""
    node = np.zeros(tree.n_nodes)
    node[0] = 1.0
    labels, total = np.zeros(tree.n_labels), 0.0
    for v in range(tree.n_nodes):
        p = node[v] * child_probabilities(tree, begins, units, v, hidden)
        for child, value in zip(tree.children[tree.offsets[v] : tree.offsets[v + 1]], p, strict=True):
            if child >= 0:
                node[child] = value
            else:
                labels[~child] = max(labels[~child], value)
                total += value
    return labels, total


def train(X, tree, begins, rows, slots, rates, *, batch, dim, key, weighting, bias):
    """Blocks of `batch` visits: scores from the vectors as they were when the block began, then updates in order."""
    d = X.shape[1]
    E = first_embeddings(key, d + 1, dim)
    W = np.zeros((int(begins[-1]), dim))
    first, last = rates
    for at in range(0, len(rows), batch):
        rate = first + (last - first) * at / len(rows)
        block = []
        for row, slot in zip(rows[at : at + batch], slots[at : at + batch], strict=True):
            span = slice(X.indptr[row], X.indptr[row + 1])
            ids, a = feature_weights(X.indices[span], X.data[span], weighting, bias, d)
            hidden = a @ E[ids]
            steps = []
            damped = rate / (1 + rate * hidden @ hidden / 4)
            for node, child in path(tree, slot):
                p = child_probabilities(tree, begins, W, node, hidden)
                wanted = np.arange(len(p)) == child
                steps += (damped * (wanted - p))[: begins[node + 1] - begins[node]].tolist()
            block.append((row, slot, ids, a, hidden, steps))
        gradients = {}
        for row, slot, ids, a, hidden, steps in block:
            gradient = gradients.setdefault(row, [np.zeros(dim), ids, a])[0]
            used = [u for node, _ in path(tree, slot) for u in range(begins[node], begins[node + 1])]
            for u, g in zip(used, steps, strict=True):
                gradient += g * W[u]
                W[u] += g * hidden
        for gradient, ids, a in gradients.values():
            E[ids] += a[:, None] * gradient
    return E, W
