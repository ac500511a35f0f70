"""Scores of shortlists as torch functions: products with some rows of a large matrix, and the best paths of an index.

On the CPU in float32 by our kernels, which never build rows × shortlist × dim; elsewhere by plain torch operations,
with the same results up to rounding. Each call works on the calling thread: callers spread pieces of a batch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..._native import neural as native
from ...arrays import Float32, Int32, Int64
from ..training import by_label

NO_SUMS = np.empty((0, 0), np.float32)


def native_here(*tensors: Any) -> bool:
    """True where our kernels can work."""
    return all(t.device.type == "cpu" and str(t.dtype) == "torch.float32" for t in tensors)


def gather_dot(torch: Any, vectors: Any, W: Any, ids: Any) -> Any:
    """scores[r, j] = vectors[r]·W[ids[r, j]], 0 where the id is -1. W's gradient is sparse, if it wants one."""
    if native_here(vectors, W):
        return _functions(torch)["dot"].apply(vectors, W, ids)
    found = (vectors[:, None, :] * W[ids.clamp(min=0).long()]).sum(2)
    return found * (ids >= 0)


def best_paths(torch: Any, logs: Any, edges: Any, found: Shortlist) -> Any:
    """log ŷ of the shortlist: logs of the clusters + edges along the best paths; -1e30 where there is none."""
    if native_here(logs, edges):
        return _functions(torch)["paths"].apply(logs, edges, found)
    paths = torch.from_numpy(found.paths).to(logs.device).long()
    clusters = torch.from_numpy(found.clusters).to(logs.device).long()
    place = torch.div(paths.clamp(min=0), edges.shape[1], rounding_mode="floor")
    chosen = clusters.gather(1, place)
    value = logs.gather(1, place) + edges[chosen, paths.clamp(min=0) % edges.shape[1]]
    return torch.where(paths >= 0, value, value.new_full((), -1e30))


class Shortlist:
    """A shortlist: which labels, by which paths through which clusters."""

    __slots__ = ("clusters", "labels", "log_scores", "paths")

    def __init__(self, clusters: Int32, labels: Int32, log_scores: Float32, paths: Int32) -> None:
        self.clusters, self.labels, self.log_scores, self.paths = clusters, labels, log_scores, paths


def find(
    clusters: Int32,
    logs: Float32,
    edge_ids: Int32,
    edge_logs: Float32,
    k: int,
    *,
    n_labels: int,
    wanted: tuple[Int64, Int32] | None = None,
    sums: tuple[Float32, Float32] | None = None,
) -> Shortlist:
    """The k best labels of each row among those that its clusters lead to; those `wanted` (offsets, ids) first.

    By their best paths, or, given `sums` (shares that a row's clusters have, scores of all edges), by the sum over all
    paths of share × score.
    """
    n = len(clusters)
    labels, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
    paths = np.empty((n, k), np.int32)
    offsets, ids = wanted or (np.zeros(1, np.int64), np.zeros(0, np.int32))
    shares, edges = sums or (NO_SUMS, NO_SUMS)
    native.shortlist(clusters, logs, shares, edge_ids, edge_logs, edges, n_labels, offsets, ids, labels, scores, paths)
    return Shortlist(clusters, labels, scores, paths)


@cache
def _functions(torch: Any) -> dict[str, Any]:
    """The autograd functions; made when torch is there."""

    class Dot(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, vectors: Any, W: Any, ids: Any) -> Any:
            vectors, W, ids = vectors.contiguous(), W.contiguous(), ids.contiguous()
            context.save_for_backward(vectors, W, ids)
            out = np.empty(tuple(ids.shape), np.float32)
            native.gather_dots(vectors.detach().numpy(), W.detach().numpy(), ids.numpy(), out)
            return torch.from_numpy(out)

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            vectors, W, ids = (t.detach() for t in context.saved_tensors)
            g, by_vector, by_row = gradient.contiguous().numpy(), None, None
            if context.needs_input_grad[0]:
                out = np.empty(tuple(vectors.shape), np.float32)
                native.gather_sums(g, W.numpy(), ids.numpy(), out)
                by_vector = torch.from_numpy(out)
            if context.needs_input_grad[1]:
                labels, offsets, rows, values = by_label(ids.numpy(), g, len(W))
                out = np.empty((len(labels), W.shape[1]), np.float32)
                native.scatter_sums(offsets, rows, values, 0, len(labels), vectors.numpy(), out)
                where = torch.from_numpy(labels.astype(np.int64))[None]
                by_row = torch.sparse_coo_tensor(where, torch.from_numpy(out), W.shape, check_invariants=False)
            return by_vector, by_row, None

    class Paths(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, logs: Any, edges: Any, found: Shortlist) -> Any:
            context.found, context.shapes = found, (tuple(logs.shape), tuple(edges.shape))
            return torch.from_numpy(found.log_scores)

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            found, (logs, edges) = context.found, context.shapes
            by_cluster, by_edge = np.empty(logs, np.float32), np.zeros(edges, np.float32)
            native.shortlist_back(gradient.contiguous().numpy(), found.paths, found.clusters, by_cluster, by_edge)
            return torch.from_numpy(by_cluster), torch.from_numpy(by_edge), None

    return {"dot": Dot, "paths": Paths}
