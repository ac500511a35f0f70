"""What keeps label vectors apart, or together where labels occur together; all on the labels that a batch sampled.

    spread-out   mean (v_a·v_b)²                    every two labels at a right angle (eq. 2)
    laplacian    mean u_ab ‖v_a − v_b‖²             labels that meet lie together (eq. 4)
    glas         mean (v_a·v_b − u_ab)²             both at once (eq. 3)
    gravity      mean (φ(x)·v_a)²                   rows and labels apart (Krichene et al. 2019)

Means over all pairs of the B labels that the batch's rows sampled, with duplicates (algorithm 2): a pair of labels that
were drawn c_a and c_b times weighs c_a·c_b/B². Pairs of a label with itself count 0: with unit vectors they are
constants. Σ c_a c_b (v_a·v_b)² = ‖Σ c_a v_a v_aᵀ‖² is dim × dim, and U is sparse, so no B × B matrix is built:
O(m·dim² + nnz·dim) for m different labels.
"""

from __future__ import annotations

from typing import Any

from .similarity import Block

REGULARIZERS = ("glas", "spread-out", "gravity", "laplacian")


def spread_out(V: Any, counts: Any) -> Any:
    """Mean squared product of two different labels."""
    gram = V.T @ (V * counts[:, None])
    own = counts * (V * V).sum(1)
    return ((gram * gram).sum() - (own * own).sum()) / counts.sum() ** 2


def laplacian(V: Any, block: Block, counts: Any, torch: Any, *, threads: int | None = None) -> Any:
    """Mean squared distance of two labels, weighted by how alike they are."""
    # ‖v_a − v_b‖² = 2 − 2 v_a·v_b for unit vectors; a label and itself add nothing.
    return (2 * block.total - 2 * meetings(V, block, counts, torch, threads=threads)) / counts.sum() ** 2


def glas(V: Any, block: Block, counts: Any, torch: Any, *, threads: int | None = None) -> Any:
    """Mean squared difference of the product of two labels from how alike they are."""
    pull = block.total_squares - 2 * meetings(V, block, counts, torch, threads=threads)
    return spread_out(V, counts) + pull / counts.sum() ** 2


def gravity(V: Any, inputs: Any, counts: Any) -> Any:
    """Mean squared product of an input and a label, times the number of inputs (a sum, so that parts add up)."""
    return ((inputs.T @ inputs) * (V.T @ (V * counts[:, None]))).sum() / counts.sum()


def meetings(V: Any, block: Block, counts: Any, torch: Any, *, threads: int | None = None) -> Any:
    """Σ c_a c_b u_ab v_a·v_b over different labels. U is symmetric, so with W = c∘V the gradient is 2c∘(U − I)W, and
    U·W serves for both."""
    weighted = V * counts[:, None]
    apart = block.times(weighted, torch, threads) - weighted.detach()
    return 2 * (weighted * apart).sum() - (weighted.detach() * apart).sum()
