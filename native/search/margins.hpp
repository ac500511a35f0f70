// Margins of all children of a node: the innermost loops of every search.
#pragma once

#include <cstdint>
#include <vector>

#include "core/lanes.hpp"
#include "search/bucket.hpp"

namespace xtrellis::search {

// One query at one block. In steps, so that the memory of many look-ups is fetched at once instead of one after another.
template <class Value>
XTRELLIS_INLINE void add_by_search(const Block<Value>& block, int bits, const SparseRow& x, float* margins) {
    constexpr std::size_t step = 32;
    std::uint32_t scattered[step];
    Bucket<Value> buckets[step];
    Entries<Value> found[step];
    for (std::size_t from = 0; from < x.size(); from += step) {
        const std::size_t n = std::min(step, x.size() - from);
        for (std::size_t i = 0; i < n; ++i) {
            scattered[i] = scatter(x.ids[from + i], bits);
            __builtin_prefetch(block.bytes + block.buckets[block.bucket_of(scattered[i])]);
        }
        for (std::size_t i = 0; i < n; ++i) buckets[i] = block[block.bucket_of(scattered[i])];
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t row = buckets[i].find(block.key_of(scattered[i]));
            found[i] = row < buckets[i].rows ? buckets[i][row] : Entries<Value>{};
            __builtin_prefetch(found[i].values);
        }
        for (std::size_t i = 0; i < n; ++i) {
            const float value = block.scale * x.values[from + i];
            for (std::uint32_t e = 0; e < found[i].count; ++e) margins[found[i].children[e]] += value * found[i].value(e);
        }
    }
}

// Many queries at one block: it is unpacked once, and the place of each feature written into a table as long as the
// feature space; then every look-up is one load. Blocks of few children are laid out dense, so that a look-up adds one
// vector and asks nothing: absent features point to a row of zeros.
class BlockTable {
public:
    static constexpr Offset dense_children = 16;

    explicit BlockTable(int bits) : places_(std::size_t{1} << bits, Place{0, 0}) {}

    template <class Value>
    XTRELLIS_INLINE void open(const Block<Value>& block, Offset children) {
        scale_ = block.scale;
        dense_ = children <= 8 ? 8 : children <= dense_children ? 16 : 0;
        // Room for whatever the bytes can hold, so that unpacking asks nothing.
        opened_.resize(block.size / 4 + 1);
        if (dense_) values_.assign((opened_.size() + 1) * static_cast<std::size_t>(dense_), 0.0f);
        else if (children_.size() < block.size) children_.resize(block.size);
        if (values_.size() < block.size) values_.resize(block.size);
        std::size_t rows = 0, at = static_cast<std::size_t>(dense_);
        for (std::uint32_t j = 0; j < block.count; ++j) {
            const Bucket<Value> bucket = block[j];
            for (std::uint32_t row = 0; row < bucket.rows; ++row) {
                const auto id = static_cast<std::size_t>((static_cast<std::uint64_t>(j) << block.shift) | bucket.key(row));
                const Entries<Value> entries = bucket[row];
                if (id >= places_.size() || rows == opened_.size() || at + std::max<std::size_t>(entries.count, static_cast<std::size_t>(dense_)) > values_.size()) continue;
                opened_[rows++] = static_cast<std::uint32_t>(id);
                places_[id].begin = static_cast<std::uint32_t>(at);
                if (dense_) {
                    for (std::uint32_t e = 0; e < entries.count; ++e) {
                        values_[at + (entries.children[e] & (dense_ - 1u))] = entries.value(e);
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
            }
        }
        opened_.resize(rows);
    }
    void close() {
        for (const std::uint32_t id : opened_) places_[id] = {0, 0};
        opened_.clear();
    }
    // `scattered` are the scattered ids of the query's features.
    XTRELLIS_INLINE void add(const SparseRow& x, const std::uint32_t* scattered, float* margins) const {
        if (dense_ == 8) return add_dense<8>(x, scattered, margins);
        if (dense_ == 16) return add_dense<16>(x, scattered, margins);
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
    template <int N>
    XTRELLIS_INLINE void add_dense(const SparseRow& x, const std::uint32_t* scattered, float* margins) const {
        auto sum = Lanes<N>::load(margins);
        for (std::size_t i = 0; i < x.size(); ++i) {
            sum += (scale_ * x.values[i]) * Lanes<N>::load(values_.data() + places_[scattered[i]].begin);
        }
        Lanes<N>::store(margins, sum);
    }
    std::vector<Place> places_;
    std::vector<std::uint32_t> opened_;
    std::vector<std::uint8_t> children_;
    std::vector<float> values_;
    int dense_ = 0;
    float scale_ = 1;
};

}  // namespace xtrellis::search
