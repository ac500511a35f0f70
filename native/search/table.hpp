// Many queries at one block: its features are laid out dense, one row of floats each, and a table as long as the
// feature space says where a feature's row is. A look-up is then two loads and a few vector sums; it asks nothing,
// since absent features point to a row of zeros. Sums come in the same order as in margins.hpp: the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/lanes.hpp"
#include "search/bucket.hpp"

namespace xtrellis::search {

class BlockTable {
public:
    // The table takes two bytes a column, on every thread: none for wide feature spaces.
    static constexpr int most_bits = 22;

    // Whether so many look-ups pay for opening a block. Writing a feature's row takes up to twice as long as a look-up
    // in the table spares, in wide blocks longer; a bucket holds four features or so.
    template <class Value>
    static bool pays(const Block<Value>& block, Offset children, std::size_t look_ups, int bits) {
        const auto lanes = static_cast<std::size_t>(lanes_of(children));
        return lanes && bits <= most_bits && look_ups >= 8 * block.count * std::max<std::size_t>(1, lanes / 16) &&
               look_ups * 256 >= std::size_t{1} << bits;
    }

    // Opens the block, if its features can be counted in two bytes.
    template <class Value>
    XTRELLIS_INLINE bool open(const Block<Value>& block, Offset children, int bits) {
        lanes_ = lanes_of(children);
        if (lanes_ == 0 || rows_of(block) >= 65536) return false;
        places_.resize(std::size_t{1} << bits, 0);
        const auto lanes = static_cast<std::size_t>(lanes_);
        scale_ = block.scale;
        std::size_t rows = 0;
        make_room(0);
        std::fill_n(values_.data(), lanes, 0.0f);
        block.each([&](std::uint64_t id, const Entries<Value>& entries) XTRELLIS_INLINED {
            if (id >= places_.size() || rows == 65535) return;  // only if the file is damaged
            make_room(++rows);
            opened_.push_back(static_cast<std::uint32_t>(id));
            places_[id] = static_cast<std::uint16_t>(rows);
            float* row = values_.data() + rows * lanes;
            std::fill_n(row, lanes, 0.0f);
            for (std::uint32_t e = 0; e < entries.count; ++e) {
                if (entries.children[e] < lanes) row[entries.children[e]] = entries.value(e);
            }
        });
        return true;
    }
    void close() {
        for (const std::uint32_t id : opened_) places_[id] = 0;
        opened_.clear();
    }
    // `scattered` are the scattered ids of the query's features.
    XTRELLIS_INLINE void add(const SparseRow& x, const std::uint32_t* scattered, float* margins) const {
        switch (lanes_) {
            case 4: return add_dense<4, 1>(x, scattered, margins);
            case 8: return add_dense<8, 1>(x, scattered, margins);
            case 16: return add_dense<8, 2>(x, scattered, margins);
            case 32: return add_dense<8, 4>(x, scattered, margins);
            case 48: return add_dense<8, 6>(x, scattered, margins);
            case 64: return add_dense<8, 8>(x, scattered, margins);
            default: break;
        }
    }

private:
    // Floats of a row, 0 for blocks that are too wide.
    static int lanes_of(Offset children) {
        const Offset lanes = children <= 4 ? 4 : children <= 8 ? 8 : (children + 15) / 16 * 16;
        return lanes <= 64 ? static_cast<int>(lanes) : 0;
    }
    template <class Value>
    XTRELLIS_INLINE static std::size_t rows_of(const Block<Value>& block) {
        const std::size_t most = block.size / (3 + sizeof(Value));
        if (most < 65536) return most;
        std::size_t rows = 0;
        block.with_keys([&]<class Key>(Key) XTRELLIS_INLINED {
            for (std::uint32_t j = 0; j < block.count; ++j) rows += block.template bucket<Key>(j).rows;
        });
        return rows;
    }
    XTRELLIS_INLINE void make_room(std::size_t row) {
        const std::size_t wanted = (row + 1) * static_cast<std::size_t>(lanes_);
        if (wanted > values_.size()) values_.resize(2 * wanted);
    }
    template <int N, int K>
    XTRELLIS_INLINE void add_dense(const SparseRow& x, const std::uint32_t* scattered, float* margins) const {
        typename Lanes<N>::Floats sums[K];
        for (int k = 0; k < K; ++k) sums[k] = Lanes<N>::load(margins + k * N);
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float value = scale_ * x.values[i];
            const float* row = values_.data() + places_[scattered[i]] * static_cast<std::size_t>(N * K);
            for (int k = 0; k < K; ++k) sums[k] += value * Lanes<N>::load(row + k * N);
        }
        for (int k = 0; k < K; ++k) Lanes<N>::store(margins + k * N, sums[k]);
    }
    std::vector<std::uint16_t> places_;  // by scattered id: which row, 0 for none
    std::vector<std::uint32_t> opened_;
    std::vector<float> values_;
    int lanes_ = 0;
    float scale_ = 1;
};

}  // namespace xtrellis::search
