"""Splitting sets of labels."""

import numpy as np
from numpy.typing import NDArray

from ..types import Float32, Float64, Int32, Int64

def split_balanced(
    v_offsets: Int64,
    v_ids: Int32,
    v_values: Float32,
    columns: int,
    members: Int32,
    offsets: Int64,
    keys: NDArray[np.uint64],
    *,
    iterations: int,
    tolerance: float,
    objectives: NDArray[np.float64],
) -> None: ...
def split_weighted(
    v_offsets: Int64,
    v_ids: Int32,
    v_values: Float32,
    columns: int,
    members: Int32,
    begins: Int64,
    ends: Int64,
    weights: Float64,
    keys: NDArray[np.uint64],
    *,
    similarity: float,
    code: float,
    iterations: int,
    tolerance: float,
    lefts: Int64,
    objectives: Float64,
    borders: Int32,
    alphas: Float64,
) -> None: ...

class KMeans:
    @property
    def groups(self) -> int: ...
    def assign(self, first: int, last: int) -> None: ...
    def repair(self) -> int: ...
    def update(self, group: int) -> None: ...
    def objective(self) -> float: ...
    def run(self, iterations: int, tolerance: float) -> float: ...
    def clusters(self) -> Int32: ...

def kmeans(
    v_offsets: Int64, v_ids: Int32, v_values: Float32, columns: int, members: Int32, k: int, key: int
) -> KMeans: ...
def best_clusters(
    label_offsets: Int64,
    label_rows: Int32,
    m_offsets: Int64,
    m_ids: Int32,
    m_weights: Float32,
    clusters: int,
    home_offsets: Int64,
    homes: Int32,
    first: int,
    last: int,
    most: int,
) -> tuple[Int64, Int32, Int32]: ...
def wanted_pairs(offsets: Int64, worth: Float64, copies: int) -> Int64: ...
def take_pairs(offsets: Int64, clusters: Int32, n_clusters: int, worth: Float64, copies: int, limit: int) -> Int64: ...
def covered_pairs(
    y_offsets: Int64,
    y_ids: Int32,
    m_offsets: Int64,
    m_ids: Int32,
    clusters: int,
    member_offsets: Int64,
    members: Int32,
    first: int,
    last: int,
) -> int: ...
