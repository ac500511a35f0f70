"""Kernels of models with dense embeddings: sparse batches, sums of embeddings and their updates, inner products."""

from typing import Any

from numpy import float64, uint16
from numpy.typing import NDArray

from ..types import Float32, Int32, Int64, UInt8

def take(
    offsets: NDArray[Any], ids: Int32, values: Float32, rows: Int32, keep: float, key: int
) -> tuple[Int64, Int32, Float32]: ...
def by_column(
    offsets: NDArray[Any], ids: Int32, values: Float32, columns: int
) -> tuple[Int32, Int64, Int32, Float32]: ...
def bag(
    offsets: NDArray[Any], ids: Int32, values: Float32, W: Float32, first: int, last: int, out: Float32
) -> None: ...
def update_bag(
    ids: Int32,
    offsets: Int64,
    rows: Int32,
    values: Float32,
    first: int,
    last: int,
    G: Float32,
    W: Float32,
    sums: Float32,
    rate: float,
    epsilon: float,
    squares: NDArray[float64],
) -> None: ...
def update_unit(ids: Int32, G: Float32, V: Float32, sums: Float32, rate: float, epsilon: float) -> None: ...
def known(offsets: NDArray[Any], ids: Int32, rows: Int32, block: Int32) -> tuple[Int64, Int64]: ...
def together(
    y_offsets: NDArray[Any],
    y_ids: Int32,
    label_offsets: NDArray[Any],
    label_rows: Int32,
    block: Int32,
    first: int,
    last: int,
) -> tuple[Int64, Int32, Float32]: ...
def products(a: Float32, b: Float32, out: Float32) -> None: ...
def best_of_all(queries: Float32, vectors: Float32, found: Int32, scores: Float32) -> None: ...
def sum_codes(blocks: UInt8, table: UInt8, out: NDArray[uint16]) -> None: ...
def scan(
    blocks: UInt8, levels: Float32, queries: Float32, vectors: Float32, keep: int, found: Int32, scores: Float32
) -> None: ...
def beam(scores: Float32, found: Int32) -> None: ...
def shortlist(
    clusters: Int32,
    logs: Float32,
    edge_ids: Int32,
    edge_logs: Float32,
    labels: int,
    wanted_offsets: Int64,
    wanted_ids: Int32,
    found: Int32,
    log_scores: Float32,
    paths: Int32,
) -> None: ...
def shortlist_back(gradient: Float32, paths: Int32, clusters: Int32, by_cluster: Float32, by_edge: Float32) -> None: ...
def gather_dots(a: Float32, W: Float32, ids: Int32, out: Float32) -> None: ...
def gather_sums(g: Float32, W: Float32, ids: Int32, out: Float32) -> None: ...
def scatter_sums(offsets: Int64, rows: Int32, g: Float32, first: int, last: int, A: Float32, out: Float32) -> None: ...
def update_rows(
    ids: Int32,
    offsets: Int64,
    rows: Int32,
    g: Float32,
    first: int,
    last: int,
    A: Float32,
    W: Float32,
    moment1: Float32,
    moment2: Float32,
    rate: float,
    beta1: float,
    beta2: float,
    correction1: float,
    correction2: float,
    epsilon: float,
    decay: float,
) -> None: ...
def adam(
    gradient: Float32,
    values: Float32,
    moment1: Float32,
    moment2: Float32,
    rate: float,
    beta1: float,
    beta2: float,
    correction1: float,
    correction2: float,
    epsilon: float,
    decay: float,
) -> None: ...
def rank(a: Float32, W: Float32, ids: Int32, log_scores: Float32, found: Int32, scores: Float32) -> None: ...
