// Training rows in one piece, immutable: the rows themselves, exact, and inverted lists that tell which rows to look
// at.
//
//   values, gaps   row after row: the values and how far the features' numbers are apart. Where that is more than 16
//   bits
//                  hold, a feature of value 0 stands in between: it adds nothing to any product.
//   short lists    of rare features: a posting is row | code << row_bits, in 3 bytes
//   long lists     of frequent features, in blocks of 2^12 rows: a posting is gap | code << 8 in 2 bytes. Where a gap
//   is
//                  wider than a byte, one of code 0 stands in between. Where many rows of a block have the feature, it
//                  is a bit for each row instead (up to a multiple of 64), and the codes of those that have it, a byte
//                  each: vector instructions take 64 rows of these at once. Every block knows its largest code.
//   dense lists    of features that over two fifths of the rows have: a code for every row
//
// Rows may lie in another order than they came, similar ones together, so that blocks differ in what they hold: places
// are places in this order, `numbers` says which row lies there.
//
// A code is a value as a share of the list's ceiling, rounded up: sums of codes bound similarities from above. The
// ceiling is norm * 2^(-c/16), of one byte c. Offsets are looked through when a model is loaded; whatever the other
// arrays hold, no look-up leaves them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/csr.hpp"
#include "core/dispatch.hpp"

namespace xtrellis::neighbors {

constexpr int block_bits = 12;
constexpr Id block_rows = Id{1} << block_bits;
constexpr Id most_rows = Id{1} << 20;
constexpr int long_levels = 255;
constexpr int common_shift = 4;  // features with more than rows >> shift postings are common

struct Segment {
    Id first = 0;  // number of its first row among all
    Id rows = 0;
    Id features = 0;              // those of its own numbering
    std::span<const Id> columns;  // feature -> column of the matrix, ascending; empty: they are the same
    const float* values = nullptr;
    const std::uint16_t* gaps = nullptr;
    int group_shift = 0;                         // the row at a place begins at
    const std::uint32_t* group_begin = nullptr;  //   group_begin[place >> group_shift] + row_offset[place]
    const std::uint16_t* row_offset = nullptr;   //
    std::span<const std::uint8_t> numbers;       // of the rows at each place, 3 bytes each; empty: as they came
    const std::uint8_t* common = nullptr;        // length of each row's part of common features, in 255ths of norm
    const std::uint8_t* ceilings = nullptr;
    const std::uint32_t* short_begin = nullptr;
    const std::uint8_t* short_postings = nullptr;  // 3 bytes each, and one more
    std::span<const Id> long_ids;                  // features that have long lists, ascending
    const std::uint32_t* long_begin = nullptr;     // lists × blocks, and the end
    const std::uint8_t* long_max = nullptr;        // lists × blocks
    const std::uint8_t* long_form = nullptr;       // lists × blocks: 0 gaps, 1 bits
    std::span<const std::uint16_t> long_postings;
    std::span<const Id> dense_ids;              // features that have dense lists, ascending
    const std::uint8_t* dense_codes = nullptr;  // lists × padded rows
    const std::uint8_t* dense_max = nullptr;    // lists × blocks
    const Offset* label_begin = nullptr;
    const Id* labels = nullptr;
    const std::uint8_t* removed = nullptr;  // a bit for each row
    double norm = 1;                        // of the longest row
    bool negative = false;                  // some value is below 0: lists bound nothing then

    Id blocks() const { return (rows + block_rows - 1) >> block_bits; }
    Id rows_in(Id block) const { return std::min(block_rows, rows - (block << block_bits)); }
    std::size_t padded_rows() const { return (static_cast<std::size_t>(rows) + 63) / 64 * 64; }
    int row_bits() const { return std::max(16, static_cast<int>(std::bit_width(static_cast<std::uint32_t>(rows)))); }
    int short_levels() const { return (1 << (24 - row_bits())) - 1; }
    std::size_t begin(Id place) const { return std::size_t{group_begin[place >> group_shift]} + row_offset[place]; }
    Id number(Id place) const {
        if (numbers.empty()) return place;
        const std::uint8_t* at = numbers.data() + std::size_t{3} * static_cast<std::size_t>(place);
        return std::min<Id>(at[0] | at[1] << 8 | at[2] << 16, rows - 1);
    }
    bool is_removed(Id row) const { return (removed[row >> 3] >> (row & 7)) & 1; }
    std::span<const Id> labels_of(Id row) const {
        return {labels + label_begin[row], static_cast<std::size_t>(label_begin[row + 1] - label_begin[row])};
    }
    // The segment's number for a column, -1 if none of its rows has it.
    Id local(Id column) const {
        if (columns.empty()) return column < features ? column : -1;
        const auto at = std::lower_bound(columns.begin(), columns.end(), column);
        return at != columns.end() && *at == column ? static_cast<Id>(at - columns.begin()) : -1;
    }
    Id column(Id feature) const { return columns.empty() ? feature : columns[static_cast<std::size_t>(feature)]; }
};

// 16-bit words of the bits for so many rows.
constexpr std::size_t bit_words(Id rows) { return (static_cast<std::size_t>(rows) + 63) / 64 * 4; }

inline double ceiling(double norm, std::uint8_t code) { return norm * std::exp2(-code / 16.0); }

// A block's part of a list that is kept by bits, for so many rows: visit(row, code).
template <class Visit>
XTRELLIS_INLINE void each_bit(std::span<const std::uint16_t> postings, Id rows, Visit visit) {
    if (postings.size() < bit_words(rows)) return;  // damaged
    const auto* bits = reinterpret_cast<const std::uint8_t*>(postings.data());
    const auto *codes = bits + 2 * bit_words(rows), *end = bits + 2 * postings.size();
    for (std::size_t w = 0; w < bit_words(rows) / 4; ++w) {
        std::uint64_t word;
        std::memcpy(&word, bits + 8 * w, 8);
        if (end - codes < std::popcount(word)) return;
        for (; word; word &= word - 1)
            visit(static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(word)), *codes++);
    }
}

// The features of the row at a place in ascending order: visit(feature, value).
template <class Visit>
XTRELLIS_INLINE void each_feature(const Segment& segment, Id place, Visit visit) {
    const auto features = static_cast<std::uint32_t>(segment.features);
    std::uint32_t feature = 0;
    for (std::size_t i = segment.begin(place), end = segment.begin(place + 1); i < end; ++i) {
        feature += segment.gaps[i];
        if (feature >= features) return;  // damaged
        visit(static_cast<Id>(feature), segment.values[i]);
    }
}

// The similarity: products in double, added in the order of the features, so it is the same wherever the row lies.
XTRELLIS_INLINE float dot(const Segment& segment, Id place, const float* query) {
    double sum = 0;
    each_feature(segment, place, [&](Id feature, float value) { sum += static_cast<double>(query[feature]) * value; });
    return static_cast<float>(sum);
}

}  // namespace xtrellis::neighbors
