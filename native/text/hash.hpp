// Hashes that are part of the stored format: a saved vectoriser's tables are probed with them, so they never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "text/unicode.hpp"

namespace xtrellis::text {

inline constexpr std::uint32_t none = 0xFFFFFFFFu;

inline std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t load8(const Byte* p) {
    std::uint64_t x;
    std::memcpy(&x, p, 8);
    return x;
}

// Eight bytes a step. Reads (and ignores) up to 8 bytes past the end: only for buffers with that slack.
inline std::uint64_t hash_bytes(const Byte* p, std::size_t n) {
    std::uint64_t h = 0x9E3779B97F4A7C15ull ^ n;
    for (; n > 8; n -= 8, p += 8) h = fold_product(h ^ load8(p), 0xD6E8FEB86659FD93ull);
    const auto last = n == 0 ? 0 : load8(p) & (~0ull >> (64 - 8 * n));
    return fold_product(fold_product(h ^ last, 0xA0761D6478BD642Full), 0xE7037ED1A0B428DBull);
}

inline std::uint64_t pair_of(std::uint32_t prefix, std::uint32_t last) { return std::uint64_t{prefix} << 32 | last; }
inline std::uint64_t hash_pair(std::uint64_t pair) {
    return fold_product(pair ^ 0x8BB84B93962EACC9ull, 0x9E3779B97F4A7C15ull);
}

// True if a table of `size` slots should not take `count` entries: at most three quarters are used.
inline bool too_full(std::uint64_t count, std::uint64_t size) { return 4 * count > 3 * size; }

// Slots for `count` entries: a power of two, with an empty one.
inline std::uint64_t table_size(std::uint64_t count) {
    std::uint64_t size = 2;
    while (too_full(count, size)) size *= 2;
    return size;
}

}  // namespace xtrellis::text
