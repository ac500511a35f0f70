#include "neighbors/build.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "neighbors/segment.hpp"

namespace xtrellis::neighbors {

namespace {

constexpr Offset most_values = std::numeric_limits<std::uint32_t>::max() / 2;  // with each an entry of high bits
constexpr std::size_t dense_price = 4;  // a dense list, which is added up much quicker, may take so many times the room

// The value as a share of `top`, in so many levels, rounded up.
std::uint8_t code(float value, double top) {
    int level = std::clamp(static_cast<int>(std::ceil(value / top * levels)), 1, levels);
    if (level < levels && level * (top / levels) < value) ++level;
    return static_cast<std::uint8_t>(level);
}

// The ceilings that codes stand for.
struct Tops {
    double of[256];
    explicit Tops(double norm) {
        for (int code = 0; code < 256; ++code) of[code] = ceiling(norm, static_cast<std::uint8_t>(code));
    }
};

// The lowest ceiling that is not below `largest`.
std::uint8_t ceiling_code(double norm, float largest) {
    int code = std::clamp(static_cast<int>(16 * std::log2(norm / largest)) + 1, 0, 255);
    while (code > 0 && ceiling(norm, static_cast<std::uint8_t>(code)) < largest) --code;
    return static_cast<std::uint8_t>(code);
}

// Rows by feature; values of 0 are left out.
struct Lists {
    std::vector<std::uint32_t> begin;
    std::vector<Id> rows;
    std::vector<float> values;

    Lists(const Csr& matrix, Offset first, Offset last) : begin(static_cast<std::size_t>(matrix.columns) + 1, 0) {
        for (Offset i = matrix.offsets[first]; i < matrix.offsets[last]; ++i) {
            begin[static_cast<std::size_t>(matrix.ids[i]) + 1] += matrix.values[i] != 0;
        }
        for (std::size_t f = 1; f < begin.size(); ++f) begin[f] += begin[f - 1];
        rows.resize(begin.back());
        values.resize(begin.back());
        std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
        for (Offset r = first; r < last; ++r) {
            const SparseRow row = matrix[r];
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (row.values[i] == 0) continue;
                const auto at = next[static_cast<std::size_t>(row.ids[i])]++;
                rows[at] = static_cast<Id>(r - first);
                values[at] = row.values[i];
            }
        }
    }
    // The features in ascending order, of each the blocks: visit(feature, block, first posting, last).
    template <class Visit>
    void each_block(Visit visit) const {
        for (std::size_t f = 0; f + 1 < begin.size(); ++f) {
            for (std::uint32_t i = begin[f]; i < begin[f + 1];) {
                const Id block = rows[i] >> block_bits;
                std::uint32_t end = i + 1;
                while (end < begin[f + 1] && rows[end] >> block_bits == block) ++end;
                visit(static_cast<std::uint32_t>(f), static_cast<std::size_t>(block), i, end);
                i = end;
            }
        }
    }
};

void measure(const Csr& rows, Offset first, Offset last, Built& out) {
    for (Offset r = first; r < last; ++r) {
        double squares = 0;
        for (const float value : rows[r].values) {
            squares += static_cast<double>(value) * value;
            out.negative = out.negative || value < 0;
        }
        out.norm = std::max(out.norm, std::sqrt(squares));
    }
}

// The rows by blocks: counted first, then each feature takes its place in every block that has it.
void write_blocks(const Lists& lists, std::size_t blocks, Built& out) {
    out.begins.assign(2 * (blocks + 1), 0);
    std::vector<std::uint16_t> highs(blocks, 0);
    const auto is_higher = [&](std::uint32_t f, std::size_t block) {
        const auto high = static_cast<std::uint16_t>(f >> 16);
        return std::exchange(highs[block], high) != high;
    };
    lists.each_block([&](std::uint32_t f, std::size_t block, std::uint32_t i, std::uint32_t end) {
        out.begins[2 * block + 2] += is_higher(f, block) ? 2 : 1;
        out.begins[2 * block + 3] += end - i;
    });
    for (std::size_t i = 2; i < out.begins.size(); ++i) out.begins[i] += out.begins[i - 2];
    out.bytes.assign(entry_bytes * out.begins[2 * blocks] + value_bytes * out.begins[2 * blocks + 1], 0);
    Segment segment;
    segment.begins = out.begins.data(), segment.bytes = out.bytes.data();
    const auto write = [&](const std::uint8_t* at, std::size_t i, auto what) {
        std::memcpy(out.bytes.data() + (at - segment.bytes) + i * sizeof what, &what, sizeof what);
    };
    std::vector<std::uint32_t> written(2 * blocks, 0);  // of each block: entries, values
    std::fill(highs.begin(), highs.end(), std::uint16_t{0});
    lists.each_block([&](std::uint32_t f, std::size_t number, std::uint32_t i, std::uint32_t end) {
        const Block block = segment.block(static_cast<Id>(number));
        if (is_higher(f, number)) write(block.keys, written[2 * number]++, static_cast<std::uint16_t>(f >> 16));
        std::uint32_t mask = 0;
        for (; i < end; ++i) {
            const std::uint32_t at = written[2 * number + 1]++;
            mask |= 1u << (lists.rows[i] & (block_rows - 1));
            write(block.uppers, at, upper_half(lists.values[i]));
            write(block.lowers, at, lower_half(lists.values[i]));
        }
        const std::uint32_t at = written[2 * number]++;
        write(block.keys, at, static_cast<std::uint16_t>(f));
        write(block.masks, at, static_cast<std::uint8_t>(mask));
    });
}

// The blocks by features, each with its largest code.
void write_lists(const Lists& lists, const Segment& shape, Built& out) {
    std::vector<std::uint16_t> blocks;
    std::vector<std::uint8_t> codes;
    const Tops tops(out.norm);
    out.list_begin.reserve(out.ceilings.size() + 1);
    for (std::size_t f = 0; f < out.ceilings.size(); ++f) {
        out.list_begin.push_back(static_cast<std::uint32_t>(out.list_blocks.size()));
        blocks.clear();
        codes.clear();
        const double top = tops.of[out.ceilings[f]];
        for (std::uint32_t i = lists.begin[f]; i < lists.begin[f + 1]; ++i) {
            const auto block = static_cast<std::uint16_t>(lists.rows[i] >> block_bits);
            const std::uint8_t here = code(lists.values[i], top);
            if (blocks.empty() || blocks.back() != block) blocks.push_back(block), codes.push_back(here);
            else codes.back() = std::max(codes.back(), here);
        }
        if (shape.padded_blocks() + shape.groups() <= dense_price * 3 * blocks.size()) {
            out.dense_ids.push_back(static_cast<Id>(f));
            const std::size_t begin = out.dense_codes.size();
            out.dense_codes.resize(begin + shape.padded_blocks(), 0);
            const std::size_t groups = out.dense_tops.size();
            out.dense_tops.resize(groups + shape.groups(), 0);
            for (std::size_t i = 0; i < blocks.size(); ++i) {
                out.dense_codes[begin + blocks[i]] = codes[i];
                std::uint8_t& top_code = out.dense_tops[groups + (blocks[i] >> group_bits)];
                top_code = std::max(top_code, codes[i]);
            }
        } else {
            out.list_blocks.insert(out.list_blocks.end(), blocks.begin(), blocks.end());
            out.list_codes.insert(out.list_codes.end(), codes.begin(), codes.end());
        }
    }
    out.list_begin.push_back(static_cast<std::uint32_t>(out.list_blocks.size()));
}

void write_ceilings(const Lists& lists, Built& out) {
    for (std::size_t f = 0; f < out.ceilings.size(); ++f) {
        float largest = 0;
        for (std::uint32_t i = lists.begin[f]; i < lists.begin[f + 1]; ++i)
            largest = std::max(largest, lists.values[i]);
        if (largest > 0) out.ceilings[f] = ceiling_code(out.norm, largest);
    }
}

}  // namespace

Offset fitting(const Csr& rows, Offset first) {
    Offset row = first;
    while (row < rows.rows && row - first < most_rows && rows.offsets[row + 1] - rows.offsets[first] <= most_values)
        ++row;
    return row - first;
}

Built build(const Csr& rows, Offset first, Offset last) {
    Built out;
    measure(rows, first, last, out);
    const Segment shape = shape_of(static_cast<Id>(last - first));
    const Lists lists(rows, first, last);
    out.ceilings.assign(static_cast<std::size_t>(rows.columns), 0);
    if (!out.negative) write_ceilings(lists, out);
    write_blocks(lists, static_cast<std::size_t>(shape.blocks()), out);
    if (!out.negative) write_lists(lists, shape, out);
    else out.list_begin.assign(out.ceilings.size() + 1, 0);  // no lists: every row is looked at
    return out;
}

}  // namespace xtrellis::neighbors
