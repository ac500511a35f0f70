"""How much what is written small may become: the bound on what strangers' files and matrices make us allocate."""

from __future__ import annotations

# To 100 times its size, or half a gigabyte. Real data compress to a twentieth at the best; zeros to a thousandth.
UNFOLDED_FREELY, UNFOLDED_TIMES = 512 << 20, 100


def unfolds_too_far(size: int, unfolded: int) -> bool:
    """True if `size` bytes that become so many more are a trap rather than data."""
    return unfolded > max(UNFOLDED_FREELY, UNFOLDED_TIMES * size)
