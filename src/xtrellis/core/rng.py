"""Randomness keyed by what it is for, never by who runs it.

`key(seed, "split", node)` is the same number on every thread, in every order, in Python and in C++
(native/core/rng.hpp has the same mix), so results do not depend on the number of threads.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MASK = (1 << 64) - 1


def mix(x: int) -> int:
    """The splitmix64 finaliser: a bijection of 64-bit words that scatters neighbours."""
    x = (int(x) + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def key(seed: int, *path: int | str) -> int:
    """A 64-bit key for one use of randomness, e.g. `key(seed, "tree", tree, node)`."""
    state = mix(int(seed) & _MASK)  # int(): NumPy integers would overflow
    for step in path:
        word = zlib.crc32(step.encode()) if isinstance(step, str) else int(step) & _MASK
        state = mix(state ^ word)
    return state


def mix_words(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`mix` of many words at once."""
    import numpy as np

    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def generator(seed: int, *path: int | str) -> np.random.Generator:
    """A NumPy generator for one use of randomness."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=key(seed, *path)))
