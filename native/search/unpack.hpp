// A packed block as plain arrays again, features ascending: for explanations, tests and repacking.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "search/bucket.hpp"

namespace xtrellis::search {

struct PlainBlock {
    std::vector<Id> features;
    std::vector<std::uint32_t> starts{0};
    std::vector<std::uint8_t> children;
    std::vector<float> weights;
};

template <class Value>
PlainBlock unpack_as(const Weights& w, Offset b) {
    // The inverse of an odd number modulo 2^32, by Newton's iteration: each step doubles the correct low bits.
    std::uint32_t inverse = multiplier;
    for (int i = 0; i < 5; ++i) inverse *= 2 - multiplier * inverse;
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << w.bits) - 1);

    const Block<Value> block(w, b);
    std::vector<std::pair<Id, Entries<Value>>> rows;
    block.each([&](std::uint64_t id, const Entries<Value>& entries) {
        rows.push_back({static_cast<Id>((static_cast<std::uint32_t>(id) * inverse) & mask), entries});
    });
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& c) { return a.first < c.first; });
    PlainBlock out;
    for (const auto& [feature, entries] : rows) {
        out.features.push_back(feature);
        for (std::uint32_t e = 0; e < entries.count; ++e) {
            out.children.push_back(entries.children[e]);
            out.weights.push_back(block.scale * entries.value(e));
        }
        out.starts.push_back(static_cast<std::uint32_t>(out.children.size()));
    }
    return out;
}

inline PlainBlock unpack_block(const Weights& w, Offset b) {
    switch (w.storage) {
        case Storage::float16: return unpack_as<_Float16>(w, b);
        case Storage::int8: return unpack_as<std::int8_t>(w, b);
        default: return unpack_as<float>(w, b);
    }
}

}  // namespace xtrellis::search
