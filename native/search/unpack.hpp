// A packed block as plain arrays again, features ascending: for tests and repacking; or only what some features have in
// it: for explanations.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
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
        case Storage::float16: return unpack_as<Half>(w, b);
        case Storage::int8: return unpack_as<std::int8_t>(w, b);
        default: return unpack_as<float>(w, b);
    }
}

// Entries of a block that belong to given features: places[i] says which of them entry i is of.
struct Met {
    std::vector<std::int64_t> places;
    std::vector<std::int64_t> children;
    std::vector<double> weights;
};

template <class Value>
Met look_up_as(const Weights& w, Offset b, std::span<const Id> features) {
    const Block<Value> block(w, b);
    Met out;
    out.places.reserve(2 * features.size());
    out.children.reserve(2 * features.size());
    out.weights.reserve(2 * features.size());
    block.with_keys([&]<class Key>(Key) {
        for (std::size_t i = 0; i < features.size(); ++i) {
            const auto id = scatter(features[i], w.bits);
            const auto bucket = block.template bucket<Key>(block.bucket_of(id));
            const auto row = bucket.find(static_cast<Key>(block.key_of(id)));
            if (row >= bucket.rows) continue;
            const auto entries = bucket[row];
            for (std::uint32_t e = 0; e < entries.count; ++e) {
                out.places.push_back(static_cast<std::int64_t>(i));
                out.children.push_back(entries.children[e]);
                out.weights.push_back(block.scale * entries.value(e));
            }
        }
    });
    return out;
}

inline Met look_up(const Weights& w, Offset b, std::span<const Id> features) {
    switch (w.storage) {
        case Storage::float16: return look_up_as<Half>(w, b, features);
        case Storage::int8: return look_up_as<std::int8_t>(w, b, features);
        default: return look_up_as<float>(w, b, features);
    }
}

}  // namespace xtrellis::search
