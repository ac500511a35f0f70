// Training rows in one piece, immutable, in blocks of 8 rows: the rows themselves, exact, by feature within a block,
// and inverted lists that tell which blocks to look into.
//
//   blocks    an entry for each feature that any row of the block has, ascending: the low 16 bits of its number, and a
//             bit for each row that has it. An entry without rows says the high 16 bits of those behind it, which are
//             0 before. Behind the entries the values of these rows: the upper halves of all floats, rounded up, which
//             bound them, then the lower halves. A block lies in one piece, what is read first at its beginning.
//   lists     for each feature, the blocks that have it, each with the largest code in the block. Lists of frequent
//             features are dense: a code for every block, 0 where no row has the feature, and the largest of every 8
//             blocks, which are a group.
//
// A code is a value as a share of the feature's ceiling, rounded up: sums of codes bound similarities from above. The
// ceiling is norm * 2^(-c/16), of one byte c.
//
// Rows lie in another order than they came, similar ones together, so that few blocks have many features of a query:
// places are places in this order, `numbers` says which row lies there. Shared features make the blocks small, too.
//
// Offsets are looked through when a model is loaded; whatever the other arrays hold, no look-up leaves them.
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

constexpr int block_bits = 3;
constexpr Id block_rows = Id{1} << block_bits;  // as many as `masks` have bits
constexpr Id most_blocks = Id{1} << 16;         // as many as `list_blocks` can tell apart
constexpr Id most_rows = most_blocks << block_bits;
constexpr int group_bits = 3;
constexpr Id group_blocks = Id{1} << group_bits;
constexpr Id stretch = 32;   // dense lists end with a multiple of so many groups
constexpr int levels = 255;  // of codes

constexpr std::size_t entry_bytes = 3, value_bytes = 4;

// A float in two halves of its bits: the upper one is rounded up, so that alone it is the bound of a value above 0.
constexpr std::uint16_t lower_half(float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value));
}
constexpr std::uint16_t upper_half(float value) {
    return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) >> 16) + (lower_half(value) != 0));
}
constexpr float joined(std::uint16_t upper, std::uint16_t lower) {
    return std::bit_cast<float>((std::uint32_t{upper} - (lower != 0)) << 16 | lower);
}

// Where the parts of a block are.
struct Block {
    std::size_t entries = 0, values = 0;   // how many there are
    const std::uint8_t* keys = nullptr;    // of each entry, 2 bytes: the low bits of the feature's number
    const std::uint8_t* masks = nullptr;   // of each entry: a bit for each row
    const std::uint8_t* uppers = nullptr;  // of each value, 2 bytes
    const std::uint8_t* lowers = nullptr;  // of each value, 2 bytes

    std::uint16_t key(std::size_t entry) const { return read(keys, entry); }
    float bound(std::size_t i) const { return joined(read(uppers, i), 0); }
    float value(std::size_t i) const { return joined(read(uppers, i), read(lowers, i)); }

private:
    static std::uint16_t read(const std::uint8_t* from, std::size_t i) {
        std::uint16_t out;
        std::memcpy(&out, from + sizeof out * i, sizeof out);
        return out;
    }
};

// The high bits of a block's entries, asked for in ascending order.
class Highs {
public:
    explicit Highs(const Block& block) : block_(block) { find(0); }
    std::uint32_t operator()(std::size_t entry) {
        while (next_ <= entry) high_ = std::uint32_t{block_.key(next_)} << 16, find(next_ + 1);
        return high_;
    }

private:
    void find(std::size_t from) {
        const void* at = from < block_.entries ? std::memchr(block_.masks + from, 0, block_.entries - from) : nullptr;
        next_ = at ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(at) - block_.masks) : block_.entries;
    }
    const Block& block_;
    std::size_t next_ = 0;
    std::uint32_t high_ = 0;
};

struct Segment {
    Id first = 0;  // number of its first row among all
    Id rows = 0;
    Id features = 0;                        // those of its own numbering
    std::span<const Id> columns;            // feature -> column of the matrix, ascending; empty: they are the same
    const std::uint32_t* begins = nullptr;  // of each block, and the end: its first entry, its first value
    const std::uint8_t* bytes = nullptr;    // of the blocks
    std::span<const std::uint8_t> numbers;  // of the rows at each place, 3 bytes each; empty: as they came
    const std::uint8_t* ceilings = nullptr;
    const std::uint32_t* list_begin = nullptr;  // features, and the end
    const std::uint16_t* list_blocks = nullptr;
    const std::uint8_t* list_codes = nullptr;
    std::span<const Id> dense_ids;              // features that have dense lists, ascending
    const std::uint8_t* dense_codes = nullptr;  // lists × blocks, padded
    const std::uint8_t* dense_tops = nullptr;   // lists × groups, padded
    const Offset* label_begin = nullptr;
    const Id* labels = nullptr;
    const std::uint8_t* removed = nullptr;  // a bit for each row
    double norm = 1;                        // of the longest row
    bool negative = false;                  // some value is below 0: codes would bound nothing

    Id blocks() const { return (rows + block_rows - 1) >> block_bits; }
    std::size_t groups() const {  // up to a multiple of `stretch`
        const auto all = static_cast<std::size_t>((blocks() + group_blocks - 1) >> group_bits);
        return (all + stretch - 1) / stretch * stretch;
    }
    std::size_t padded_blocks() const { return groups() << group_bits; }
    std::size_t byte(Id block) const {
        const std::uint32_t* at = begins + 2 * static_cast<std::size_t>(block);
        return entry_bytes * at[0] + value_bytes * at[1];
    }
    Block block(Id number) const {
        const std::uint32_t* at = begins + 2 * static_cast<std::size_t>(number);
        Block out;
        out.entries = at[2] - at[0], out.values = at[3] - at[1];
        out.keys = bytes + byte(number);
        out.masks = out.keys + 2 * out.entries;
        out.uppers = out.masks + out.entries;
        out.lowers = out.uppers + 2 * out.values;
        return out;
    }
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

inline Segment shape_of(Id rows) {
    Segment shape;
    shape.rows = rows;
    return shape;
}

inline double ceiling(double norm, std::uint8_t code) { return norm * std::exp2(-code / 16.0); }

// The bits of a mask, in ascending order: visit(bit).
template <class Visit>
XTRELLIS_INLINE void each_bit(std::uint32_t mask, Visit visit) {
    for (; mask; mask &= mask - 1) visit(std::countr_zero(mask));
}

// The features of a block in ascending order: visit(feature, bits of the rows that have it, the first of their values).
template <class Visit>
XTRELLIS_INLINE void each_entry(const Segment& segment, Id number, Visit visit) {
    const Block block = segment.block(number);
    Highs highs(block);
    std::size_t value = 0;
    for (std::size_t i = 0; i < block.entries; ++i) {
        const std::uint32_t mask = block.masks[i], feature = highs(i) | block.key(i);
        const std::size_t next = value + static_cast<std::size_t>(std::popcount(mask));
        if (next > block.values) return;  // damaged
        if (mask && feature < static_cast<std::uint32_t>(segment.features)) visit(feature, mask, value);
        value = next;
    }
}

}  // namespace xtrellis::neighbors
