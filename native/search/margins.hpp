// Margins of all children of a node: the innermost loops of every search.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lanes.hpp"
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

// Many queries at one block: it is unpacked once, and the place of each feature written into a table as long as the
// feature space; then every look-up is one load. If enough queries share the work, the block is laid out dense, so that
// a look-up adds whole vectors and asks nothing: absent features point to a row of zeros.
class BlockTable {
public:
    static constexpr std::size_t most_dense = std::size_t{1} << 24;  // floats: 64 MiB

    explicit BlockTable(int bits) : places_(std::size_t{1} << bits, Place{0, 0}) {}

    // How many lanes a dense row has, or 0 to stay sparse: filling must cost less than what branches would.
    static int dense_lanes(std::size_t rows, Offset children, std::size_t queries) {
        const Offset lanes = children <= 8 ? 8 : (children + 15) / 16 * 16;
        const std::size_t floats = rows * static_cast<std::size_t>(lanes);
        const bool pays = lanes <= 16 || queries * 4096 >= floats;
        return lanes <= 128 && pays && floats <= most_dense ? static_cast<int>(lanes) : 0;
    }

    template <class Value>
    XTRELLIS_INLINE void open(const Block<Value>& block, Offset children, std::size_t queries) {
        scale_ = block.scale;
        std::size_t n_rows = 0;
        block.with_keys([&]<class Key>(Key) XTRELLIS_INLINED {
            for (std::uint32_t j = 0; j < block.count; ++j) n_rows += block.template bucket<Key>(j).rows;
        });
        n_rows = std::min(n_rows, places_.size());  // more only if the file is damaged
        dense_ = dense_lanes(n_rows, children, queries);
        opened_.resize(n_rows);
        if (dense_) {
            values_.assign((opened_.size() + 1) * static_cast<std::size_t>(dense_), 0.0f);
        } else {
            const std::size_t most = block.size / (1 + sizeof(Value));
            children_.resize(std::max(children_.size(), most));
            values_.resize(std::max(values_.size(), most));
        }
        const std::size_t limit = dense_ ? values_.size() : std::min(values_.size(), children_.size());
        std::size_t rows = 0, at = static_cast<std::size_t>(dense_);
        block.each([&](std::uint64_t id, const Entries<Value>& entries) XTRELLIS_INLINED {
            if (id >= places_.size() || rows == opened_.size() ||
                at + std::max<std::size_t>(entries.count, static_cast<std::size_t>(dense_)) > limit) {
                return;
            }
            opened_[rows++] = static_cast<std::uint32_t>(id);
            places_[id].begin = static_cast<std::uint32_t>(at);
            if (dense_) {
                for (std::uint32_t e = 0; e < entries.count; ++e) {
                    if (entries.children[e] < dense_) values_[at + entries.children[e]] = entries.value(e);
                }
                at += static_cast<std::size_t>(dense_);
            } else {
                for (std::uint32_t e = 0; e < entries.count; ++e) {
                    children_[at + e] = entries.children[e];
                    values_[at + e] = entries.value(e);
                }
                at += entries.count;
                places_[id].end = static_cast<std::uint32_t>(at);
            }
        });
        opened_.resize(rows);
    }
    void close() {
        for (const std::uint32_t id : opened_) places_[id] = {0, 0};
        opened_.clear();
    }
    // `scattered` are the scattered ids of the query's features.
    XTRELLIS_INLINE void add(const SparseRow& x, const std::uint32_t* scattered, float* margins) const {
        switch (dense_) {
            case 8: return add_dense<8, 1>(x, scattered, margins);
            case 16: return add_dense<16, 1>(x, scattered, margins);
            case 32: return add_dense<16, 2>(x, scattered, margins);
            case 48: return add_dense<16, 3>(x, scattered, margins);
            case 64: return add_dense<16, 4>(x, scattered, margins);
            case 80: return add_dense<16, 5>(x, scattered, margins);
            case 96: return add_dense<16, 6>(x, scattered, margins);
            case 112: return add_dense<16, 7>(x, scattered, margins);
            case 128: return add_dense<16, 8>(x, scattered, margins);
            default: break;
        }
        const std::uint8_t* children = children_.data();
        const float* values = values_.data();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const Place place = places_[scattered[i]];
            const float value = scale_ * x.values[i];
            for (std::uint32_t e = place.begin; e < place.end; ++e) margins[children[e]] += value * values[e];
        }
    }

private:
    struct Place {
        std::uint32_t begin, end;
    };
    template <int N, int K>
    XTRELLIS_INLINE void add_dense(const SparseRow& x, const std::uint32_t* scattered, float* margins) const {
        typename Lanes<N>::Floats sums[K];
        for (int k = 0; k < K; ++k) sums[k] = Lanes<N>::load(margins + k * N);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float value = scale_ * x.values[i];
            const float* row = values_.data() + places_[scattered[i]].begin;
            for (int k = 0; k < K; ++k) sums[k] += value * Lanes<N>::load(row + k * N);
        }
        for (int k = 0; k < K; ++k) Lanes<N>::store(margins + k * N, sums[k]);
    }
    std::vector<Place> places_;
    std::vector<std::uint32_t> opened_;
    std::vector<std::uint8_t> children_;
    std::vector<float> values_;
    int dense_ = 0;
    float scale_ = 1;
};

}  // namespace xtrellis::search
