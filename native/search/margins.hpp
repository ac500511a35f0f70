// Margins of all children of a node: the innermost loops of every search.
#pragma once

#include <cstdint>
#include <vector>

#include "search/bucket.hpp"

namespace xtrellis::search {

// The scattered ids of a query's features, worked out once for all blocks.
inline void scatter_all(const SparseRow& x, int bits, std::vector<std::uint32_t>& scattered) {
    scattered.resize(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) scattered[i] = scatter(x.ids[i], bits);
}

// Add one feature's entries. A row that has all children needs no list.
template <class Value>
XTRELLIS_INLINE void add_entries(const Entries<Value>& entries, Offset children, float value, float* margins) {
    const std::uint32_t count = entries.count;
    if (count == static_cast<std::uint32_t>(children)) {
        for (std::uint32_t e = 0; e < count; ++e) margins[e] += value * entries.value(e);
        return;
    }
    std::uint32_t e = 0;
    for (; e + 2 <= count; e += 2) {
        const float first = value * entries.value(e), second = value * entries.value(e + 1);
        margins[entries.children[e]] += first;
        margins[entries.children[e + 1]] += second;
    }
    if (e < count) margins[entries.children[e]] += value * entries.value(e);
}

// One query at one block. A model is larger than the caches near the core, and a look-up waits for two or three reads,
// one after the other: so all places first, then all look-ups, then all sums, each asking for what the next will read.
template <class Value>
XTRELLIS_INLINE void add_by_search(const Block<Value>& block, Offset children, const SparseRow& x,
                                   const std::uint32_t* scattered, float* margins) {
    constexpr std::size_t step = 64;
    struct Hit {
        Entries<Value> entries;
        float value;
    };
    Hit hits[step];
    for (std::size_t from = 0; from < x.size(); from += step) {
        const std::size_t n = std::min(step, x.size() - from);
        for (std::size_t i = 0; i < n; ++i) {
            __builtin_prefetch(block.bytes + block.buckets[block.bucket_of(scattered[from + i])]);
        }
        std::size_t found = 0;
        block.with_keys([&]<class Key>(Key) XTRELLIS_INLINED {
            for (std::size_t i = 0; i < n; ++i) {
                const std::uint32_t id = scattered[from + i];
                const auto bucket = block.template bucket<Key>(block.bucket_of(id));
                const std::uint32_t row = bucket.find(static_cast<Key>(block.key_of(id)));
                if (row == bucket.rows) continue;
                hits[found] = {bucket[row], block.scale * x.values[from + i]};
                __builtin_prefetch(hits[found].entries.values);
                ++found;
            }
        });
        for (std::size_t i = 0; i < found; ++i) add_entries(hits[i].entries, children, hits[i].value, margins);
    }
}

}  // namespace xtrellis::search
