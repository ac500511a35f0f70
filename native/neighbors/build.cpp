#include "neighbors/build.hpp"

#include <cmath>
#include <limits>

#include "neighbors/segment.hpp"

namespace xtrellis::neighbors {

namespace {

constexpr Id widest = 0xFFFF;  // gap between two features of a row
constexpr Offset most_values = std::numeric_limits<std::uint32_t>::max();

Offset values_of(SparseRow row) {
    Offset count = 0;
    Id before = 0;
    for (const Id id : row.ids) {
        count += 1 + (id - before) / widest;
        before = id;
    }
    return count;
}

// Where rows begin, in 2 bytes each: counted from the beginning of a group that is as large as these allow.
void write_begins(const std::vector<std::uint32_t>& begins, Built& out) {
    const auto fits = [&](int shift) {
        for (std::size_t i = 0; i < begins.size(); ++i) {
            if (begins[i] - begins[i >> shift << shift] > 0xFFFF) return false;
        }
        return true;
    };
    for (out.group_shift = 8; !fits(out.group_shift);) --out.group_shift;
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const std::uint32_t base = begins[i >> out.group_shift << out.group_shift];
        if (base == begins[i] && (i >> out.group_shift << out.group_shift) == i) out.group_begin.push_back(base);
        out.row_offset.push_back(static_cast<std::uint16_t>(begins[i] - base));
    }
}

void write_rows(const Csr& rows, Offset first, Offset last, Built& out) {
    const auto nonzeros = static_cast<std::size_t>(rows.offsets[last] - rows.offsets[first]);
    out.values.reserve(nonzeros);
    out.gaps.reserve(nonzeros);
    std::vector<std::uint32_t> begins;
    begins.reserve(static_cast<std::size_t>(last - first) + 1);
    for (Offset r = first; r < last; ++r) {
        begins.push_back(static_cast<std::uint32_t>(out.values.size()));
        const SparseRow row = rows[r];
        Id before = 0;
        double squares = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const float value = row.values[i];
            if (value == 0) continue;
            for (; row.ids[i] - before > widest; before += widest) {
                out.values.push_back(0.0f);
                out.gaps.push_back(static_cast<std::uint16_t>(widest));
            }
            out.values.push_back(value);
            out.gaps.push_back(static_cast<std::uint16_t>(row.ids[i] - before));
            before = row.ids[i];
            squares += static_cast<double>(value) * value;
            out.negative = out.negative || value < 0;
        }
        out.norm = std::max(out.norm, std::sqrt(squares));
    }
    begins.push_back(static_cast<std::uint32_t>(out.values.size()));
    write_begins(begins, out);
}

// The value as a share of `top`, in so many levels, rounded up.
std::uint32_t code(float value, double top, int levels) {
    int level = std::clamp(static_cast<int>(std::ceil(value / top * levels)), 1, levels);
    if (level < levels && level * (top / levels) < value) ++level;
    return static_cast<std::uint32_t>(level);
}

// The lowest ceiling that is not below `largest`.
std::uint8_t ceiling_code(double norm, float largest) {
    int code = std::clamp(static_cast<int>(16 * std::log2(norm / largest)) + 1, 0, 255);
    while (code > 0 && ceiling(norm, static_cast<std::uint8_t>(code)) < largest) --code;
    return static_cast<std::uint8_t>(code);
}

// Rows by feature.
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
    std::size_t length(std::size_t f) const { return begin[f + 1] - begin[f]; }
    std::span<const Id> rows_of(std::size_t f) const { return {rows.data() + begin[f], length(f)}; }
    std::span<const float> values_of(std::size_t f) const { return {values.data() + begin[f], length(f)}; }
};

// A list within a block: how many rows have it, and the words that it takes by gaps, those of code 0 in wide ones
// included, and by bits.
struct Stretch {
    std::size_t rows = 0, by_gaps = 0, by_bits = 0;

    Stretch(std::span<const Id> from, Id begin, Id block_size) {
        Id before = begin;
        for (const Id row : from) {
            if (row >= begin + block_rows) break;
            by_gaps += 1 + static_cast<std::size_t>(row > before ? (row - before - 1) / 255 : 0);
            before = row;
            ++rows;
        }
        by_bits = bit_words(block_size) + (rows + 1) / 2;
    }
    bool bits() const { return 2 * by_bits <= 3 * by_gaps; }  // quicker to read, and most often smaller
    std::size_t words() const { return bits() ? by_bits : by_gaps; }
};

// Visits the blocks: visit(block, its part of the list).
template <class Visit>
void each_stretch(std::span<const Id> rows, const Segment& shape, Visit visit) {
    for (Id block = 0; block < shape.blocks(); ++block) {
        const Stretch here(rows, block << block_bits, shape.rows_in(block));
        visit(block, here);
        rows = rows.subspan(here.rows);
    }
}

std::size_t long_length(std::span<const Id> rows, const Segment& shape) {
    std::size_t length = 0;
    each_stretch(rows, shape, [&](Id, const Stretch& here) { length += here.words(); });
    return length;
}

void write_bits(std::span<const Id> rows, std::span<const std::uint8_t> codes, Id begin, Id block_size, Built& out) {
    const std::size_t at = out.long_postings.size();
    out.long_postings.resize(at + bit_words(block_size) + (codes.size() + 1) / 2, 0);
    auto* bytes = reinterpret_cast<std::uint8_t*>(out.long_postings.data() + at);
    for (const Id row : rows) {
        const auto place = static_cast<std::size_t>(row - begin);
        bytes[place / 8] = static_cast<std::uint8_t>(bytes[place / 8] | 1 << place % 8);
    }
    std::copy(codes.begin(), codes.end(), bytes + 2 * bit_words(block_size));
}

void write_long(std::span<const Id> rows, std::span<const float> values, double top, const Segment& shape, Built& out) {
    std::vector<std::uint8_t> codes;
    each_stretch(rows, shape, [&](Id block, const Stretch& here) {
        out.long_begin.push_back(static_cast<std::uint32_t>(out.long_postings.size()));
        out.long_form.push_back(here.bits());
        codes.clear();
        for (const float value : values.first(here.rows))
            codes.push_back(static_cast<std::uint8_t>(code(value, top, long_levels)));
        out.long_max.push_back(codes.empty() ? std::uint8_t{0} : *std::max_element(codes.begin(), codes.end()));
        Id before = block << block_bits;
        if (here.bits()) write_bits(rows.first(here.rows), codes, before, shape.rows_in(block), out);
        for (std::size_t i = 0; i < here.rows && !here.bits(); ++i) {
            for (; rows[i] - before > 255; before += 255) out.long_postings.push_back(255);
            out.long_postings.push_back(static_cast<std::uint16_t>((rows[i] - before) | codes[i] << 8));
            before = rows[i];
        }
        rows = rows.subspan(here.rows);
        values = values.subspan(here.rows);
    });
}

// How long the part of each row is that common features make up, rounded up. Search goes by the number of postings.
void write_common(const Csr& rows, Offset first, Offset last, const std::vector<std::uint32_t>& lengths, Built& out) {
    const auto n = static_cast<std::size_t>(last - first);
    out.common.reserve(n);
    for (Offset r = first; r < last; ++r) {
        const SparseRow row = rows[r];
        double squares = 0;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (lengths[static_cast<std::size_t>(row.ids[i])] > n >> common_shift)
                squares += static_cast<double>(row.values[i]) * row.values[i];
        }
        const double share = out.norm > 0 ? std::sqrt(squares) / out.norm : 0;
        out.common.push_back(static_cast<std::uint8_t>(std::min(255.0, std::ceil(share * 255 * (1 + 1e-9)))));
    }
}

}  // namespace

Offset fitting(const Csr& rows, Offset first) {
    Offset values = 0, row = first;
    for (; row < rows.rows && row - first < most_rows; ++row) {
        values += values_of(rows[row]);
        if (values > most_values) break;
    }
    return row - first;
}

Built build(const Csr& rows, Offset first, Offset last) {
    Built out;
    write_rows(rows, first, last, out);
    const auto features = static_cast<std::size_t>(rows.columns);
    out.ceilings.assign(features, 0);
    if (out.negative) {  // no lists: every row is looked at
        out.common.assign(static_cast<std::size_t>(last - first), 255);
        out.short_begin.assign(features + 1, 0);
        out.short_postings.assign(1, 0);
        out.long_begin.assign(1, 0);
        return out;
    }
    const Lists lists(rows, first, last);
    Segment shape;
    shape.rows = static_cast<Id>(last - first);
    const auto table = static_cast<std::size_t>(shape.blocks()) * 6;
    out.short_begin.reserve(features + 1);
    std::vector<std::uint32_t> lengths(features, 0);
    std::uint32_t shorts = 0;
    for (std::size_t f = 0; f < features; ++f) {
        out.short_begin.push_back(shorts);
        const std::size_t length = lists.length(f);
        if (!length) continue;
        const auto here = lists.rows_of(f);
        const auto values = lists.values_of(f);
        out.ceilings[f] = ceiling_code(out.norm, *std::max_element(values.begin(), values.end()));
        const double top = ceiling(out.norm, out.ceilings[f]);
        if (5 * length > 2 * static_cast<std::size_t>(shape.rows)) {
            out.dense_ids.push_back(static_cast<Id>(f));
            lengths[f] = static_cast<std::uint32_t>(shape.rows);
            const std::size_t begin = out.dense_codes.size();
            out.dense_codes.resize(begin + shape.padded_rows(), 0);
            for (std::size_t i = 0; i < length; ++i)
                out.dense_codes[begin + static_cast<std::size_t>(here[i])] =
                    static_cast<std::uint8_t>(code(values[i], top, long_levels));
            for (Id block = 0; block < shape.blocks(); ++block) {
                const auto* codes = out.dense_codes.data() + begin + (static_cast<std::size_t>(block) << block_bits);
                out.dense_max.push_back(
                    *std::max_element(codes, codes + std::min(block_rows, shape.rows - (block << block_bits))));
            }
            continue;
        }
        const std::size_t if_long = long_length(here, shape);
        if (2 * if_long + table < 3 * length) {  // whichever is smaller
            lengths[f] = static_cast<std::uint32_t>(if_long);
            out.long_ids.push_back(static_cast<Id>(f));
            write_long(here, values, top, shape, out);
            continue;
        }
        lengths[f] = static_cast<std::uint32_t>(length);
        shorts += lengths[f];
        for (std::size_t i = 0; i < length; ++i) {
            const std::uint32_t posting =
                static_cast<std::uint32_t>(here[i]) | code(values[i], top, shape.short_levels()) << shape.row_bits();
            for (int byte = 0; byte < 3; ++byte)
                out.short_postings.push_back(static_cast<std::uint8_t>(posting >> 8 * byte));
        }
    }
    write_common(rows, first, last, lengths, out);
    out.short_begin.push_back(shorts);
    out.short_postings.push_back(0);
    out.long_begin.push_back(static_cast<std::uint32_t>(out.long_postings.size()));
    return out;
}

}  // namespace xtrellis::neighbors
