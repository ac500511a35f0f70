"""Scoring, calibrating and ordering given candidates."""

from ..arrays import Array, Float32, Float64, Int32, Int64, UInt8

def margins(
    offsets: Int64, features: Int32, weights: Float32, biases: Float32, x_offsets: Int64, x_ids: Int32,
    x_values: Float32, columns: int, first: int, last: int, labels: Int32, out: Float32,
) -> None: ...
def calibrate(
    feature: Int32, threshold: Array, left: Int32, right: Int32, value: Float32, first: int, last: int, p: Float32,
    q: Float32, labels: Int32, frequency: Float32, out: Float32,
) -> None: ...
def best(labels: Int32, scores: Float32, first: int, last: int, out_labels: Int32, out_scores: Float32) -> None: ...
def gather_sums(
    bins: Array, nodes: Array, gradients: Float32, curvatures: Float32, places: Int32, n_nodes: int, n_bins: int,
    first: int, last: int, out: Float64,
) -> None: ...
def questions(
    sums: Float64, n_edges: Int32, monotone: Int32, l2: float, least: float, n_nodes: int, n_bins: int, first: int,
    last: int, gains: Float64, at: Int32, sides: Float64,
) -> None: ...
def log_odds(
    feature: Int32, threshold: Float32, value: Float32, base: float, inputs: Float32, first: int, last: int,
    out: Float32, variant: int = ...,
) -> None: ...
def blend(
    labels: Int32, scores: Float32, begins: Int64, feature: Int32, threshold: Float32, value: Float32, base: float,
    frequency: Float32, wide: int, unknown: float, tie: float, allowed: UInt8, first: int, last: int,
    out_labels: Int32, out_scores: Float32, variant: int = ...,
) -> None: ...
def probabilities(
    labels: Int32, scores: Float64, frequency: Int64, bands: Int64, begins: Int64, x: Float64, y: Float64, out: Float32
) -> None: ...
def variants() -> int: ...
