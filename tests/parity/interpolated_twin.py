"""One split of an interpolated tree in plain NumPy: sorts where the kernel selects, sums anew where it updates."""

from __future__ import annotations

import numpy as np

from xtrellis.core.rng import mix


def start(V, key):
    """The kernel's first direction: from one member to another, drawn by the key."""
    state = int(key)

    def below(bound):
        nonlocal state
        word = mix(state)
        state = (state + 0x9E3779B97F4A7C15) & ((1 << 64) - 1)
        return ((word >> 32) * bound) >> 32

    a = below(len(V))
    b = below(len(V) - 1)
    return V[a] - V[b + (b >= a)]


def ratios(V, direction, f, a, b):
    """β_l / f_l."""
    return a / 2 * (V @ direction) + b * f


def lemma_1(ratio, f):
    """α, and the border member: +1 in descending order until half of the weight is used."""
    order = np.lexsort((np.arange(len(f)), -ratio))
    upto = np.cumsum(f[order])
    at = min(int(np.searchsorted(upto, f.sum() / 2)), len(f) - 1)
    while f[order[at]] == 0:
        at -= 1
    alpha = np.full(len(f), -1.0)
    alpha[order[:at]] = 1
    before = upto[at] - f[order[at]]
    alpha[order[at]] = 2 * np.clip((f.sum() / 2 - before) / f[order[at]], 0, 1) - 1
    return alpha, order[at], at


def objective(V, f, alpha, plus, minus, a, b):
    """Eq. (4)."""
    similar = f * a / 2 * ((1 + alpha) * (V @ plus) + (1 - alpha) * (V @ minus))
    return similar.sum() + (alpha * b * f**2).sum()


def unit(x):
    length = np.linalg.norm(x)
    return x / length if length > 0 else np.zeros_like(x)


def split(V, f, a, b, key, iterations, tolerance):
    """(who is on the + side, objective after every round, α, border)."""
    V, f = V.astype(np.float64), np.asarray(f, np.float64)
    direction, values = start(V, key), []
    for _ in range(iterations):
        alpha, border, at = lemma_1(ratios(V, direction, f, a, b), f)
        plus, minus = unit((f * (1 + alpha)) @ V), unit((f * (1 - alpha)) @ V)
        values.append(objective(V, f, alpha, plus, minus, a, b))
        if len(values) > 1 and values[-1] - values[-2] < tolerance * a:
            break
        direction = plus - minus
    side = alpha > 0
    side[border] = at == 0 or (alpha[border] >= -1e-9 and at + 1 < len(f))
    return side, values, alpha, border
