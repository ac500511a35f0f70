"""A training step and a prediction of ELIAS: our kernels beside plain torch, with the same losses.

    python benchmarks/elias.py --labels 45000 --shortlist 2000

Plain torch gathers rows × shortlist × dim label vectors and finds the best paths by scattering into rows × labels; it
may use as many threads as we do. Both start from the same vectors and end with gradients by vectors, clusters, edges
and label weights (sparse rows).
"""

from __future__ import annotations

import argparse
import math
import time
from types import SimpleNamespace

import numpy as np
import torch
from common import record

from xtrellis._native import neural as native
from xtrellis.core import run, spans, thread_count
from xtrellis.neural.elias.losses import plain_loss, shortlist_loss
from xtrellis.neural.elias.network import EliasNetwork, edge_logs
from xtrellis.neural.elias.shortlist import best_paths, find, gather_dot
from xtrellis.neural.training.optim import by_label
from xtrellis.neural.training.pytorch import one_thread

ALPHA, PIECE = 10.0, 64


def world(how: argparse.Namespace) -> SimpleNamespace:
    rng = np.random.default_rng(0)
    C, L, d, n = how.clusters, how.labels, how.dim, how.rows
    width = 10 * L // C
    # Labels near a cluster's own, as a trained index has them.
    ids = np.stack([(c * L // C + rng.permutation(4 * width)[:width] - 2 * width) % L for c in range(C)])
    vectors = rng.standard_normal((n, d), dtype=np.float32)
    vectors[:, -1] = 1
    W = rng.standard_normal((L, d), dtype=np.float32) * np.float32(0.1)
    W[:, -1] = -4
    return SimpleNamespace(
        vectors=vectors, W=W, clusters=rng.standard_normal((C, d), dtype=np.float32) * np.float32(0.2),
        ids=ids.astype(np.int32), values=rng.random((C, width), dtype=np.float32), labels=L, scale=2 * L / C,
        positives=np.sort(rng.integers(0, C, (n, 3)), axis=1).astype(np.int64), beam=how.beam, k=how.shortlist,
    )  # fmt: skip


def wanted(w: SimpleNamespace, beam: np.ndarray, at: slice = slice(None)) -> np.ndarray:
    """Three labels of each row, from its own clusters so that both ways reach them."""
    rows, places = np.arange(len(beam))[:, None], w.positives[at]
    return np.sort(w.ids[beam[rows, places % beam.shape[1]], places % w.ids.shape[1]], axis=1)


def fused(w: SimpleNamespace, threads: int) -> tuple[float, list[np.ndarray]]:
    with one_thread(torch):
        values = torch.from_numpy(w.values).requires_grad_()
        edges = edge_logs(values, torch.from_numpy(w.ids), w.scale)
        now = edges.detach().numpy()

        def piece(span: tuple[int, int]) -> tuple:
            at = slice(*span)
            x = torch.from_numpy(w.vectors[at]).requires_grad_()
            c, e = torch.from_numpy(w.clusters).requires_grad_(), torch.from_numpy(now).requires_grad_()
            logits = x @ c.T
            logs = (logits.log_softmax(1) + math.log(ALPHA)).clamp(max=0)
            best = np.empty((len(x), w.beam), np.int32)
            native.beam(logits.detach().numpy(), best)
            chosen = logs.gather(1, torch.from_numpy(best.astype(np.int64)))
            own = [np.unique(row) for row in wanted(w, best, at)]
            offsets = np.cumsum([0, *map(len, own)]).astype(np.int64)
            found = find(
                best, chosen.detach().contiguous().numpy(), w.ids, now, w.k, n_labels=w.labels,
                wanted=(offsets, np.concatenate(own).astype(np.int32)),
            )  # fmt: skip
            scores = gather_dot(torch, x, torch.from_numpy(w.W), torch.from_numpy(found.labels))
            positive = torch.from_numpy(np.arange(w.k) < np.diff(offsets)[:, None])
            loss = shortlist_loss(torch, scores, best_paths(torch, chosen, e, found), positive, 0.05)
            g = torch.autograd.grad(loss, [x, c, e, scores])
            return float(loss.detach()), found.labels, *(t.numpy() for t in g)

        parts = run(piece, spans(len(w.vectors), -(-len(w.vectors) // PIECE)), threads=threads)
        by_edge = sum(part[4] for part in parts)
        (by_value,) = torch.autograd.grad(edges, [values], torch.from_numpy(by_edge))
        labels, offsets, rows, g = by_label(
            np.concatenate([p[1] for p in parts]), np.concatenate([p[5] for p in parts]), w.labels
        )
        by_row = np.empty((len(labels), w.W.shape[1]), np.float32)
        run(
            lambda span: native.scatter_sums(offsets, rows, g, *span, w.vectors, by_row),
            spans(len(labels), 16), threads=threads,
        )  # fmt: skip
    gradients = [np.concatenate([p[2] for p in parts]), sum(p[3] for p in parts), by_value.numpy(), by_row]
    return sum(p[0] for p in parts), gradients


def plain(w: SimpleNamespace, threads: int) -> tuple[float, list[np.ndarray]]:
    torch.set_num_threads(threads)
    x, c, a = (torch.from_numpy(v).requires_grad_() for v in (w.vectors, w.clusters, w.values))
    W = torch.from_numpy(w.W).requires_grad_()
    n, ids = len(x), torch.from_numpy(w.ids).long()
    edges = (a.log_softmax(1) + math.log(w.scale)).clamp(max=0)
    logits = x @ c.T
    logs = (logits.log_softmax(1) + math.log(ALPHA)).clamp(max=0)
    # By logits: clamped scores tie, and the order of the beam says which labels are the row's own here.
    best = logits.detach().topk(w.beam, dim=1).indices
    chosen = logs.gather(1, best)
    paths = (chosen[:, :, None] + edges[best]).reshape(n, -1)
    labels = ids[best].reshape(n, -1)
    full = torch.full((n, w.labels), -1e30).scatter_reduce(1, labels, paths, "amax")
    own = torch.from_numpy(wanted(w, best.numpy())).long()
    short = full.detach().scatter(1, own, 1.0).topk(w.k, dim=1).indices
    reached = full.gather(1, short)
    positive = torch.zeros((n, w.labels), dtype=torch.bool).scatter(1, own, True).gather(1, short)
    scores = torch.bmm(torch.nn.functional.embedding(short, W, sparse=True), x[:, :, None])[:, :, 0]
    loss = plain_loss(torch, scores, reached, positive, 0.05)
    g = torch.autograd.grad(loss, [x, c, a, W])
    return float(loss.detach()), [*(t.numpy() for t in g[:3]), g[3].coalesce().values().numpy()]


def products_only(w: SimpleNamespace, ids: np.ndarray, threads: int, ours: bool) -> float:
    """Gather-dot, forward and both gradients."""
    began = time.perf_counter()
    g = np.ones(ids.shape, np.float32)
    if ours:

        def piece(span: tuple[int, int]) -> None:
            at = slice(*span)
            out, by = np.empty(ids[at].shape, np.float32), np.empty(w.vectors[at].shape, np.float32)
            native.gather_dots(w.vectors[at], w.W, ids[at], out)
            native.gather_sums(g[at], w.W, ids[at], by)

        run(piece, spans(len(ids), -(-len(ids) // PIECE)), threads=threads)
        labels, offsets, rows, values = by_label(ids, g, w.labels)
        by_row = np.empty((len(labels), w.W.shape[1]), np.float32)
        run(
            lambda span: native.scatter_sums(offsets, rows, values, *span, w.vectors, by_row),
            spans(len(labels), 16), threads=threads,
        )  # fmt: skip
    else:
        torch.set_num_threads(threads)
        x, W = torch.from_numpy(w.vectors).requires_grad_(), torch.from_numpy(w.W).requires_grad_()
        gathered = torch.nn.functional.embedding(torch.from_numpy(ids).long(), W, sparse=True)
        out = torch.bmm(gathered, x[:, :, None])[:, :, 0]
        torch.autograd.grad(out, [x, W], torch.from_numpy(g))[1].coalesce()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--labels", type=int, default=45_000)
    parser.add_argument("--clusters", type=int, default=512)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--beam", type=int, default=20)
    parser.add_argument("--shortlist", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=3)
    how = parser.parse_args()
    w, threads = world(how), thread_count(None)
    rng = np.random.default_rng(1)
    ids = np.stack([rng.permutation(how.labels)[: how.shortlist] for _ in range(how.rows)]).astype(np.int32)
    times: dict[str, list[float]] = {"step ours": [], "step torch": [], "products ours": [], "products torch": []}
    losses = {}
    for _ in range(how.repeat):
        for name, step in (("ours", fused), ("torch", plain)):
            began = time.perf_counter()
            losses[name], gradients = step(w, threads)
            times[f"step {name}"].append(time.perf_counter() - began)
            losses[f"{name} norms"] = [round(float(np.linalg.norm(g)), 4) for g in gradients]
            times[f"products {name}"].append(products_only(w, ids, threads, name == "ours"))
    with one_thread(torch):
        logs = edge_logs(torch.from_numpy(w.values), torch.from_numpy(w.ids), w.scale).numpy()
    network = EliasNetwork(w.clusters, w.ids, logs, w.W, ALPHA)
    predicting = []
    for _ in range(how.repeat):
        began = time.perf_counter()
        network.predict(w.vectors, 10, beam=how.beam, shortlist_size=how.shortlist)
        predicting.append(time.perf_counter() - began)
    apart = abs(losses["ours"] - losses["torch"]) / losses["torch"]
    if apart > 1e-5:
        raise SystemExit(f"the losses differ by {apart:.1e}: {losses}; this would compare two different things")
    best = {name: min(found) for name, found in times.items()}
    record(
        "elias", **vars(how), threads=threads, losses=losses,
        **{f"{name} ms": round(1e3 * value, 1) for name, value in best.items()},
        step_ratio=round(best["step torch"] / best["step ours"], 2),
        products_ratio=round(best["products torch"] / best["products ours"], 2),
        predict_ms_a_row=round(1e3 * min(predicting) / how.rows, 4),
    )  # fmt: skip


if __name__ == "__main__":
    main()
