// Sorting by small whole numbers: a few passes of counting instead of comparisons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace xtrellis {

// The places of `keys` (below 2^bits) in ascending order; equal ones stay as they are.
inline std::vector<std::uint32_t> sorted_places(const std::vector<std::uint32_t>& keys, int bits) {
    std::vector<std::uint32_t> order(keys.size()), other(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    for (int shift = 0; shift < bits; shift += 8) {
        std::uint32_t begins[257] = {};
        for (const std::uint32_t key : keys) ++begins[(key >> shift & 255) + 1];
        for (std::size_t i = 1; i < 257; ++i) begins[i] += begins[i - 1];
        for (const std::uint32_t place : order) other[begins[keys[place] >> shift & 255]++] = place;
        order.swap(other);
    }
    return order;
}

}  // namespace xtrellis
