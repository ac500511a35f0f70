// Writing a block: from features in ascending order to buckets (model.hpp).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "core/radix.hpp"
#include "search/model.hpp"

namespace xtrellis::search {

struct PackedBlock {
    std::vector<std::uint32_t> buckets;
    std::vector<std::uint8_t> bytes;
    float scale = 1;
};

namespace packing {

constexpr std::size_t usual_rows = 6;   // features in a bucket: few enough for one look, enough to pay for its head
constexpr std::size_t most_rows = 255;  // their number is one byte

template <class T>
void append(std::vector<std::uint8_t>& bytes, T value) {
    const auto at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Low bits for the key.
inline int key_bits(const std::vector<std::uint32_t>& sorted, int bits) {
    const auto wanted = static_cast<int>(std::bit_width(sorted.size() / usual_rows));
    for (int shift = std::clamp(bits - wanted, 0, 16);; --shift) {
        std::size_t run = 0, longest = 0;
        for (std::size_t i = 0; i < sorted.size(); ++i) {
            run = i && sorted[i] >> shift == sorted[i - 1] >> shift ? run + 1 : 1;
            longest = std::max(longest, run);
        }
        if (longest <= most_rows || shift == 0) return shift;
    }
}

}  // namespace packing

// `starts` has rows + 1 entries: where each feature's children and weights begin. `scale` is one that the block had
// before some of its weights changed: it stays if they fit, so that the others keep their bits.
template <class Value>
PackedBlock pack_block(const Id* features, const std::uint32_t* starts, std::size_t rows, const std::uint8_t* children,
                       const float* weights, int bits, float scale = 0) {
    PackedBlock out;
    if constexpr (std::is_same_v<Value, std::int8_t>) {
        float largest = 0;
        for (std::uint32_t e = 0; e < starts[rows]; ++e) largest = std::max(largest, std::fabs(weights[e]));
        out.scale = largest > 0 ? largest / 127 : 1;
        if (scale > out.scale) out.scale = scale;
    }
    const auto stored = [&](float weight) {
        if constexpr (std::is_same_v<Value, std::int8_t>)
            return static_cast<std::int8_t>(std::lround(weight / out.scale));
        else return static_cast<Value>(std::is_same_v<Value, float> ? weight : std::clamp(weight, -65504.0f, 65504.0f));
    };
    std::vector<std::uint32_t> scattered(rows), sorted(rows);
    for (std::size_t r = 0; r < rows; ++r) scattered[r] = scatter(features[r], bits);
    const std::vector<std::uint32_t> order = sorted_places(scattered, bits);
    for (std::size_t r = 0; r < rows; ++r) sorted[r] = scattered[order[r]];
    const int shift = packing::key_bits(sorted, bits);
    const std::size_t n_buckets = std::size_t{1} << (bits - shift);
    std::size_t row = 0;
    for (std::size_t bucket = 0; bucket < n_buckets; ++bucket) {
        out.buckets.push_back(static_cast<std::uint32_t>(out.bytes.size()));
        std::size_t last = row;
        while (last < rows && sorted[last] >> shift == bucket) ++last;
        if (last == row) continue;  // an empty bucket has no bytes at all
        out.bytes.push_back(static_cast<std::uint8_t>(last - row));
        for (std::size_t r = row; r < last; ++r) {
            const auto key = static_cast<std::uint16_t>(sorted[r] & ((std::uint64_t{1} << shift) - 1));
            if (narrow(shift)) out.bytes.push_back(static_cast<std::uint8_t>(key));
            else packing::append(out.bytes, key);
        }
        for (std::size_t r = row; r < last; ++r)
            out.bytes.push_back(static_cast<std::uint8_t>(starts[order[r] + 1] - starts[order[r]] - 1));
        for (std::size_t r = row; r < last; ++r) {
            for (auto e = starts[order[r]]; e < starts[order[r] + 1]; ++e) out.bytes.push_back(children[e]);
        }
        for (std::size_t r = row; r < last; ++r) {
            for (auto e = starts[order[r]]; e < starts[order[r] + 1]; ++e)
                packing::append(out.bytes, stored(weights[e]));
        }
        row = last;
    }
    if (out.bytes.size() > UINT32_MAX)
        throw std::length_error("a block of weights is larger than 4 GiB: raise prune or set max_weights");
    out.buckets.push_back(static_cast<std::uint32_t>(out.bytes.size()));
    return out;
}

}  // namespace xtrellis::search
