// Randomness keyed by what it is for: the same mix as src/xtrellis/rng.py, so keys made in Python go on here.
#pragma once

#include <cstdint>

#include "core/dispatch.hpp"

namespace xtrellis {

XTRELLIS_INLINE std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

// splitmix64: tiny state, good enough for shuffles and for picking centres.
class Rng {
public:
    XTRELLIS_INLINE explicit Rng(std::uint64_t key) : state_(key) {}
    XTRELLIS_INLINE std::uint64_t next() {
        const auto out = mix(state_);
        state_ += 0x9E3779B97F4A7C15ull;
        return out;
    }
    // Uniform in [0, bound) for bound >= 1, by the high half of a product (bias below bound / 2^32: irrelevant here).
    XTRELLIS_INLINE std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
    }
    XTRELLIS_INLINE float unit() { return static_cast<float>(next() >> 40) * 0x1.0p-24f; }

private:
    std::uint64_t state_;
};

}  // namespace xtrellis
