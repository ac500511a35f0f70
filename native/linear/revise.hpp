// A trained block is revised: some of its children have other weights, all others keep theirs.
#pragma once

#include <cstdint>
#include <span>

#include "linear/block.hpp"

namespace xtrellis::linear {

// A block in plain form, as it lies in somebody's arrays: features rise, children of a feature too.
struct PlainBlock {
    std::span<const Id> features;
    const std::uint32_t* starts;
    const std::uint8_t* children;
    const float* weights;
};

// `old` without the children that `gone` (256 bytes) has a 1 for, and with those of `more`: one pass over both.
inline Block revised(const PlainBlock& old, const PlainBlock& more, const std::uint8_t* gone) {
    Block out;
    out.starts.push_back(0);
    const auto keep = [&](const PlainBlock& from, std::uint32_t at) {
        out.children.push_back(from.children[at]);
        out.weights.push_back(from.weights[at]);
    };
    std::size_t a = 0, b = 0;
    const std::size_t a_end = old.features.size(), b_end = more.features.size();
    while (a < a_end || b < b_end) {
        const bool from_old = b == b_end || (a < a_end && old.features[a] <= more.features[b]);
        const Id feature = from_old ? old.features[a] : more.features[b];
        std::uint32_t i = 0, i_end = 0, j = 0, j_end = 0;
        if (a < a_end && old.features[a] == feature) i = old.starts[a], i_end = old.starts[a + 1], ++a;
        if (b < b_end && more.features[b] == feature) j = more.starts[b], j_end = more.starts[b + 1], ++b;
        while (i < i_end || j < j_end) {
            if (i < i_end && gone[old.children[i]]) {
                ++i;
            } else if (j == j_end || (i < i_end && old.children[i] < more.children[j])) {
                keep(old, i++);
            } else {
                keep(more, j++);
            }
        }
        const auto end = static_cast<std::uint32_t>(out.children.size());
        if (end == out.starts.back()) continue;
        out.features.push_back(feature);
        out.starts.push_back(end);
    }
    return out;
}

}  // namespace xtrellis::linear
