"""What keeps label vectors apart, or together where labels occur together; all on one block of labels.

    spread-out   mean (v_a·v_b)²                    every two labels at a right angle (eq. 2)
    laplacian    mean u_ab ‖v_a − v_b‖²             labels that meet lie together (eq. 4)
    glas         mean (v_a·v_b − u_ab)²             both at once (eq. 3)
    gravity      mean (φ(x)·v_a)²                   rows and labels apart (Krichene et al. 2019)

Means over all m² pairs of the block, of which the m of a label with itself count 0: with unit vectors they are
constants. Σ(v_a·v_b)² = ‖VᵀV‖² is dim × dim, and U is sparse, so no block × block matrix is built: O(m·dim² + nnz·dim).
"""

from __future__ import annotations

from typing import Any

from .similarity import Block

REGULARIZERS = ("glas", "spread-out", "gravity", "laplacian")


def spread_out(V: Any) -> Any:
    """Mean squared product of two different labels."""
    m = V.shape[0]
    gram = V.T @ V
    own = (V * V).sum(1)
    return ((gram * gram).sum() - (own * own).sum()) / m**2


def laplacian(V: Any, block: Block, torch: Any, *, threads: int | None = None) -> Any:
    """Mean squared distance of two labels, weighted by how alike they are."""
    m = V.shape[0]
    # ‖v_a − v_b‖² = 2 − 2 v_a·v_b for unit vectors; a label and itself add nothing.
    return (2 * block.total - 2 * meetings(V, block, torch, threads=threads)) / m**2


def glas(V: Any, block: Block, torch: Any, *, threads: int | None = None) -> Any:
    """Mean squared difference of the product of two labels from how alike they are."""
    m = V.shape[0]
    return spread_out(V) + (block.total_squares - 2 * meetings(V, block, torch, threads=threads)) / m**2


def gravity(V: Any, inputs: Any) -> Any:
    """Mean squared product of an input and a label, times the number of inputs (a sum, so that parts add up)."""
    return ((inputs.T @ inputs) * (V.T @ V)).sum() / V.shape[0]


def meetings(V: Any, block: Block, torch: Any, *, threads: int | None = None) -> Any:
    """Σ u_ab v_a·v_b over different labels. U is symmetric, so the gradient is 2(U − I)V, and U·V serves for both."""
    apart = block.times(V, torch, threads) - V.detach()
    return 2 * (V * apart).sum() - (V.detach() * apart).sum()
