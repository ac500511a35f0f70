"""What a learned index looks like: its edges, the clusters of labels, what pruning and narrower beams cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array, Int64, TopK
from ...core import MissingExtraError, generator
from ...labels import label_frequency
from ...linear import LinearTree
from ...neural import Elias, clusters_a_label, n_clusters
from ..data import Prepared
from ..measure import deciles, quality

LEAST = (0.01, 0.05, 0.1, 0.25, 0.5)
TOP = (1, 2, 4)  # edges a cluster keeps, as multiples of the labels it would have
BEAMS = (1, 2, 5, 10, 20, 40)  # clusters of a partition, whose labels are what an answer may cost
NARROW = 5  # a beam to compare the usual one with
STRONG = 0.25  # an edge that counts as a place of a label
THRESHOLDS = (0.1, 0.25, 0.5, 0.75)  # the same, of figure 7a
AT = (1, 5, 10, 20, 50, 100)  # answers, of figure 5
SHOWN = ("P@1", "P@5", "R@100")
PICTURED, POINTS = 3, 150  # labels of each kind whose rows are drawn, and rows of each at most


def index_facts(model: Elias, data: Prepared) -> dict[str, Any]:
    """Edge scores (figure 3), clusters a label (figure 7), quality by cost; of a learned index also pruning (table 9),
    what it kept of the partition it began with (figure 7), and rows of labels with one and several clusters (figures 8
    and 9)."""
    network, tenth = model.network, deciles(label_frequency(data.train.Y))
    scores = np.exp(network.edge_logs[network.edge_ids >= 0])
    counts = clusters_a_label(network.edge_ids, network.edge_logs, network.n_labels, least=STRONG)
    out: dict[str, Any] = {
        "edges": int(network.n_edges),
        "edge scores": np.histogram(scores, bins=20, range=(0, 1))[0].tolist(),
        "clusters a label": _by_tenth(counts, tenth),
        "places": {str(t): _by_tenth(_places(model, t), tenth) for t in THRESHOLDS},
        "costs": _costs(model, data),
        "curves": [{k: round(v, 4) for k, v in point.items() if k != "seconds"} for point in model.curves],
    }
    if model.stages == 2:
        out["costs, narrow"] = _costs(model, data, beam=NARROW)
        out["costs, best"] = _costs(model, data, shortlist_by="best")
        out["pruning"] = _pruning(model, data)
        out["kept"] = _by_tenth(_kept(model, data), tenth)
        out["pictures"] = _pictures(model, data, counts)
    return out


def _by_tenth(values: Array, tenth: Int64) -> list[float]:
    return [round(float(values[tenth == t].mean()), 3) if (tenth == t).any() else 0.0 for t in range(10)]


def recall_at(data: Prepared, top: TopK) -> list[float]:
    """Recall at different numbers of answers (figure 5, left)."""
    found = quality(data, top, [f"R@{k}" for k in AT])
    return [found[f"R@{k}"] for k in AT]


def _places(model: Elias, least: float) -> Array:
    network = model.network
    return clusters_a_label(network.edge_ids, network.edge_logs, network.n_labels, least=least)


def _costs(model: Elias, data: Prepared, **search: Any) -> list[dict[str, Any]]:
    """How good answers are that ask as many labels' classifiers as 1, 2, 5 … clusters of a partition hold.

    A partition pays with clusters looked at, a learned index with the length of its shortlist; its beam stays.
    """
    names = ("beam", "shortlist_size", "shortlist_by")
    usual, out = {name: getattr(model, name) for name in names}, []
    vectors, network = model.embed(data.test.X), model.network
    for clusters, labels in _prices(data):
        cost = {"beam": clusters, "shortlist_size": network.n_labels} if model.stages == 1 else search
        model.set_params(**{"shortlist_size": labels, **cost})
        asked = network.n_asked(vectors, beam=model.beam, shortlist_size=model.shortlist_size, by=model.shortlist_by)
        found = quality(data, model.predict(data.test.X, k=100), SHOWN)
        out.append({"as clusters": clusters, "labels asked": round(float(asked.mean()), 1), **found})
    model.set_params(**usual)
    return out


def _prices(data: Prepared) -> list[tuple[int, int]]:
    """Clusters, and the labels that so many of a partition hold."""
    share = data.train.n_labels / n_clusters(None, data.train.n_labels)
    return [(clusters, max(1, round(clusters * share))) for clusters in BEAMS]


def tree_costs(model: LinearTree, data: Prepared) -> list[dict[str, Any]]:
    """The same of a tree, which pays with its beam; all of its lowest nodes hold about as many labels."""
    tree, usual, out = model.tree, model.beam, []
    leaves = np.bincount(tree.owner[tree.children < 0], minlength=tree.n_nodes)
    size = float(leaves[leaves > 0].mean())
    for clusters, labels in _prices(data):
        beam = max(1, round(labels / size))
        model.set_params(beam=beam)
        found = quality(data, model.predict(data.test.X, k=100), SHOWN)
        asked = round(min(beam, int((leaves > 0).sum())) * size, 1)
        out.append({"as clusters": clusters, "labels asked": asked, **found})
    model.set_params(beam=usual)
    return out


def _pruning(model: Elias, data: Prepared) -> list[dict[str, Any]]:
    network = model.network
    share = -(-network.n_labels // len(network.clusters))
    cuts: list[tuple[str, dict[str, Any]]] = [(f"score ≥ {least}", {"least": least}) for least in LEAST]
    cuts += [(f"best {factor * share} a cluster", {"top": factor * share}) for factor in TOP]
    out = []
    for name, cut in cuts:
        fewer = Elias.from_state(model.get_params(deep=False), model.to_state()).prune(**({"least": 0.0} | cut))
        found = quality(data, fewer.predict(data.test.X, k=100), SHOWN)
        out.append({"cut": name, "edges": round(100 * fewer.network.n_edges / network.n_edges, 1), **found})
    return out


def _kept(model: Elias, data: Prepared) -> Array:
    """For each label 1 if a strong edge still leads to it from the cluster that it was first in."""
    first = model.partition(data.train.X, data.train.Y)
    network = model.network
    strong = (network.edge_ids >= 0) & (network.edge_logs >= np.log(STRONG))
    rows, columns = np.nonzero(strong)
    now = rows * network.n_labels + network.edge_ids[rows, columns]
    rows, columns = np.nonzero(first.ids >= 0)
    labels = first.ids[rows, columns]
    out = np.zeros(network.n_labels)
    out[labels] = np.isin(rows * network.n_labels + labels, now)
    return out


def _pictures(model: Elias, data: Prepared, counts: Array) -> list[dict[str, Any]]:
    """Rows of some labels in two dimensions, with the cluster that each row comes to first."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError("scikit-learn", "rank", "drawing rows in two dimensions") from None
    X, Y = data.train.X, data.train.Y.tocsc()
    assert X is not None  # prepared data has features
    frequency = np.diff(Y.indptr)
    enough = np.flatnonzero(frequency >= 30)
    several = enough[np.argsort(-counts[enough], kind="stable")][:PICTURED]
    # Labels with one cluster, as frequent as the others as far as there are such.
    alone = enough[counts[enough] == 1]
    alone = alone[np.argsort(-frequency[alone], kind="stable")][:PICTURED]
    names = data.train.label_names
    out = []
    for kind, labels in (("several", several), ("one", alone)):
        for label in labels.tolist():
            rows = Y.indices[Y.indptr[label] : Y.indptr[label + 1]]
            rows = np.sort(generator(0, "pictures", label).permutation(rows)[:POINTS])
            vectors = model.embed(X[rows])
            best, _ = model.network.best_clusters(vectors, 1)
            flat = TSNE(perplexity=min(30, (len(rows) - 1) / 3), random_state=0, init="pca").fit_transform(vectors)
            out.append({
                "kind": kind, "label": str(names[label]) if names is not None else str(label),
                "clusters": int(counts[label]), "points": np.round(flat, 1).tolist(), "first": best[:, 0].tolist(),
            })  # fmt: skip
    return out
