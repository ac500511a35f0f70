// A training batch: some rows of a sparse matrix, some of their entries dropped at random, and the same by features.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/rng.hpp"

namespace xtrellis::neural {

struct Rows {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
};

// Rows `rows` of X; each entry is kept with probability `keep`. Randomness is keyed by the row, so a row loses the same
// entries whatever batch or thread it comes in.
inline Rows take(const Csr& X, std::span<const Id> rows, double keep, std::uint64_t key) {
    Rows out;
    out.offsets.reserve(rows.size() + 1);
    for (const Id row : rows) {
        const SparseRow x = X[row];
        Rng rng(mix(key ^ static_cast<std::uint64_t>(row)));
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (keep < 1 && rng.unit() >= keep) continue;
            out.ids.push_back(x.ids[i]);
            out.values.push_back(x.values[i]);
        }
        out.offsets.push_back(static_cast<Offset>(out.ids.size()));
    }
    return out;
}

// A batch by columns, only those that occur: column `ids[c]` has rows[offsets[c] .. offsets[c + 1]).
struct Columns {
    std::vector<Id> ids;
    std::vector<Offset> offsets{0};
    std::vector<Id> rows;
    std::vector<float> values;
};

// Radix sort by column: time and memory follow the entries of the batch, not the number of columns there are.
inline Columns by_column(const Csr& batch) {
    struct Entry {
        Id column, row;
        float value;
    };
    constexpr int digit = 11, radix = 1 << digit;
    const auto n = static_cast<std::size_t>(batch.offsets[batch.rows]);
    std::vector<Entry> entries, sorted(n);
    entries.reserve(n);
    for (Offset row = 0; row < batch.rows; ++row) {
        const SparseRow x = batch[row];
        for (std::size_t i = 0; i < x.size(); ++i) entries.push_back({x.ids[i], static_cast<Id>(row), x.values[i]});
    }
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(batch.columns)));
    for (int shift = 0; shift < bits; shift += digit) {  // stable: rows stay ascending within a column
        std::array<std::size_t, radix + 1> starts{};
        for (const Entry& e : entries) ++starts[static_cast<std::size_t>((e.column >> shift) & (radix - 1)) + 1];
        for (int i = 0; i < radix; ++i) starts[static_cast<std::size_t>(i) + 1] += starts[static_cast<std::size_t>(i)];
        for (const Entry& e : entries)
            sorted[starts[static_cast<std::size_t>((e.column >> shift) & (radix - 1))]++] = e;
        entries.swap(sorted);
    }
    Columns out;
    out.rows.resize(n);
    out.values.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        if (i == 0 || entries[i].column != entries[i - 1].column) {
            if (i > 0) out.offsets.push_back(static_cast<Offset>(i));
            out.ids.push_back(entries[i].column);
        }
        out.rows[i] = entries[i].row;
        out.values[i] = entries[i].value;
    }
    if (n > 0) out.offsets.push_back(static_cast<Offset>(n));
    return out;
}

}  // namespace xtrellis::neural
