// Some rows of a sparse matrix, with the columns that occur in them renumbered into a small dense range.
//
// Work on a node's rows then touches arrays that fit a cache, where the whole column space would not (2-3x by itself).
#pragma once

#include <algorithm>
#include <exception>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/row_reader.hpp"
#include "core/spill.hpp"

namespace xtrellis {

struct Compact {
    SpillingProbed<Offset> offsets;  // rows + 1
    Spilling<Id> ids;                // local column ids
    Spilling<float> values;
    std::vector<Id> columns;  // local id -> global id; frequent columns first, so that they share cache lines
    Id singles = 0;           // columns that occur in one row only: the last ones

    Offset rows() const { return static_cast<Offset>(offsets.size()) - 1; }
    Id width() const { return static_cast<Id>(columns.size()); }
    SparseRow operator[](std::size_t row) const {
        const auto begin = offsets[row];
        const auto count = static_cast<std::size_t>(offsets[row + 1] - begin);
        return {{ids.data() + begin, count}, {values.data() + begin, count}};
    }
};

// Somebody who goes through all rows lets those in files go behind him.
class Walk {
public:
    explicit Walk(const Compact& rows) : rows_(rows), in_files_(spills_rows(sizeof(Id) * rows.ids.size())) {}
    void passed(std::size_t entries) {
        if (!in_files_ || (entries_ += entries) < together) return;
        drop_spilled(rows_.ids.data());
        drop_spilled(rows_.values.data());
        entries_ = 0;
    }

private:
    static constexpr std::size_t together = std::size_t{1} << 20;  // entries: 8 MiB
    const Compact& rows_;
    bool in_files_;
    std::size_t entries_ = 0;
};

// Scratch that a thread keeps between calls: one entry a global column, all zero between calls.
using ColumnMap = std::vector<Id>;

// Holds the scratch to that promise when memory runs out in the middle.
struct ClearOnThrow {
    ColumnMap& scratch;
    int before = std::uncaught_exceptions();
    ~ClearOnThrow() {
        if (std::uncaught_exceptions() > before) std::fill(scratch.begin(), scratch.end(), 0);
    }
};

// Numbers the columns of some rows: `scratch` says the local id of each until it is cleared. How many entries there
// are.
inline Offset number_columns(RowReader& matrix, std::span<const Id> rows, ColumnMap& scratch, Compact& out) {
    Offset nonzeros = 0;
    auto& seen = out.columns;
    for (const Id row : rows) {
        const auto ids = matrix.ids(row);
        for (const Id column : ids) {
            if (scratch[column]++ == 0) seen.push_back(column);
        }
        nonzeros += static_cast<Offset>(ids.size());
    }
    // Frequent first, then as first seen: columns that occur together lie together. A stable counting sort, capped:
    // beyond a few hundred occurrences the exact order no longer matters.
    constexpr Id cap = 255;
    std::size_t starts[cap + 2] = {};
    for (const Id column : seen) {
        ++starts[cap - std::min(scratch[column], cap) + 1];
        out.singles += scratch[column] == 1;
    }
    for (Id i = 0; i <= cap; ++i) starts[i + 1] += starts[i];
    std::vector<Id> sorted(seen.size());
    for (const Id column : seen) sorted[starts[cap - std::min(scratch[column], cap)]++] = column;
    seen = std::move(sorted);
    for (std::size_t local = 0; local < seen.size(); ++local) scratch[seen[local]] = static_cast<Id>(local);
    return nonzeros;
}

inline void prepare(ColumnMap& scratch, const Csr& matrix) {
    if (scratch.size() < static_cast<std::size_t>(matrix.columns))
        scratch.resize(static_cast<std::size_t>(matrix.columns), 0);
}

inline Compact compact(const Csr& matrix, std::span<const Id> rows, ColumnMap& scratch) {
    Compact out;
    const ClearOnThrow guard{scratch};
    prepare(scratch, matrix);
    RowReader reader(matrix);
    const Offset nonzeros = number_columns(reader, rows, scratch, out);
    out.offsets.reserve(rows.size() + 1);
    out.offsets.push_back(0);
    out.ids.resize(static_cast<std::size_t>(nonzeros));
    out.values.resize(static_cast<std::size_t>(nonzeros));
    Walk walk(out);
    std::size_t at = 0;
    for (const Id row : rows) {
        const SparseRow x = reader[row];
        for (std::size_t i = 0; i < x.size(); ++i, ++at) {
            out.ids[at] = scratch[x.ids[i]];
            out.values[at] = x.values[i];
        }
        out.offsets.push_back(static_cast<Offset>(at));
        walk.passed(x.size());
    }
    for (const Id column : out.columns) scratch[column] = 0;
    return out;
}

}  // namespace xtrellis
