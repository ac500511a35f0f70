"""Keys: the same everywhere, different for every use."""

from __future__ import annotations

import numpy as np
import pytest

from xtrellis.core import rng


def test_mix_is_splitmix64():
    # native/tests/test_core.cpp checks the same value of native/core/rng.hpp
    assert rng.mix(0) == 0xE220A8397B1DCDAF
    state, outputs = 0, []
    for _ in range(3):
        outputs.append(rng.mix(state))
        state = (state + 0x9E3779B97F4A7C15) % 2**64
    assert outputs == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # published for seed 0


def test_mix_stays_in_64_bits_and_does_not_collide():
    values = {rng.mix(x) for x in [*range(10_000), 2**64 - 1, 2**63]}
    assert len(values) == 10_002
    assert all(0 <= value < 2**64 for value in values)
    assert rng.mix(2**64) == rng.mix(0)


def test_many_words_are_mixed_as_one_is():
    words = np.array([0, 1, 2**63, 2**64 - 1, *range(10**18, 10**18 + 50)], np.uint64)
    before = words.copy()
    assert rng.mix_words(words).tolist() == [rng.mix(int(word)) for word in words]
    np.testing.assert_array_equal(words, before)


def test_keys_depend_on_every_step_and_their_order():
    keys = [
        rng.key(0), rng.key(1), rng.key(0, 0), rng.key(0, 1), rng.key(0, 0, 1), rng.key(0, 1, 0),
        rng.key(0, "tree"), rng.key(0, "split"), rng.key(0, "tree", 0), rng.key(-1), rng.key(0, -1),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    assert rng.key(3, "tree", 5) == rng.key(3, "tree", 5) == 0x5A55557B7C4BE7C8


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64, np.uint32, np.uint64])
def test_numpy_integers_are_integers(kind):
    assert rng.key(kind(3), kind(5)) == rng.key(3, 5)
    assert rng.mix(kind(3)) == rng.mix(3)


def test_generators_repeat():
    one, same, other = rng.generator(1, "a"), rng.generator(1, "a"), rng.generator(1, "b")
    first = one.random(5)
    assert np.array_equal(first, same.random(5))
    assert not np.array_equal(first, other.random(5))
