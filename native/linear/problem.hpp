// One node's training problem. All children of a node see the same rows, so it is built once and shared by them.
//
// A feature that occurs in one row only (most do, in a small node) has the weight x_f·(α·y) of that row and no other
// part to play: what all such features of a row add to its margin is |own part|²·(α·y). So they take no part in the
// solver's loops at all; their weights are written down at the end. This is exact.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/compact.hpp"
#include "linear/row_file.hpp"

namespace xtrellis::linear {

struct Problem {
    Compact x;  // the node's rows over the features that occur in them; shared features first in a row
    SpillingProbed<Offset> shared;  // where the shared features of each row end
    SpillingProbed<float> norms;    // squared length of each row, bias included
    SpillingProbed<float> own;      // squared length of the part that no other row has
    Id shared_width = 0;            // features that several rows have: the first ones
    float bias = 0;                 // value of the constant feature; 0 means none
    std::unique_ptr<RowFile> file;  // what the rows lie in, if they are too many; then x has no ids and values

    Offset rows() const { return x.rows(); }
    Id width() const { return x.width(); }
};

// Puts what a row shares with others before what it has alone, and writes down what is known of it.
class RowSorter {
public:
    explicit RowSorter(Problem& problem) : p_(problem) {}

    void add(Id* ids, float* values, std::size_t length, Offset begin) {
        float norm = p_.bias * p_.bias, own = 0;
        std::size_t keep = 0;
        apart_.clear();
        for (std::size_t i = 0; i < length; ++i) {
            const Id id = ids[i];
            const float value = values[i];
            norm += value * value;
            if (id >= p_.shared_width) {
                own += value * value;
                apart_.push_back({id, value});
            } else {
                ids[keep] = id;
                values[keep++] = value;
            }
        }
        p_.shared.push_back(begin + static_cast<Offset>(keep));
        for (const auto& [id, value] : apart_) {
            ids[keep] = id;
            values[keep++] = value;
        }
        p_.norms.push_back(norm);
        p_.own.push_back(own);
    }

private:
    Problem& p_;
    std::vector<std::pair<Id, float>> apart_;
};

// As `compact`, but the rows go to a file, all but those that there is room for.
inline void build_in_file(Problem& p, const Csr& X, std::span<const Id> rows, ColumnMap& scratch) {
    const ClearOnThrow guard{scratch};
    prepare(scratch, X);
    RowReader reader(X);
    const Offset entries = number_columns(reader, rows, scratch, p.x);
    p.shared_width = p.x.width() - p.x.singles;
    p.file = std::make_unique<RowFile>(entries);
    p.x.offsets.reserve(rows.size() + 1);
    p.x.offsets.push_back(0);
    RowSorter sorter(p);
    std::vector<Id> ids;
    std::vector<float> values;
    Offset at = 0;
    for (const Id row : rows) {
        const SparseRow x = reader[row];
        ids.assign(x.ids.begin(), x.ids.end());
        values.assign(x.values.begin(), x.values.end());
        for (Id& id : ids) id = scratch[id];
        sorter.add(ids.data(), values.data(), ids.size(), at);
        p.file->append(ids, values);
        at += static_cast<Offset>(ids.size());
        p.x.offsets.push_back(at);
    }
    p.file->finish();
    for (const Id column : p.x.columns) scratch[column] = 0;
}

inline Problem build_problem(const Csr& X, std::span<const Id> rows, float bias, ColumnMap& scratch) {
    Problem p;
    p.bias = bias;
    p.norms.reserve(rows.size());
    p.own.reserve(rows.size());
    p.shared.reserve(rows.size());
    std::size_t bytes = 0;
    for (const Id row : rows) bytes += sizeof(float) * static_cast<std::size_t>(X.length(row));
    if (spills_rows(bytes)) {
        build_in_file(p, X, rows, scratch);
        return p;
    }
    p.x = compact(X, rows, scratch);
    p.shared_width = p.x.width() - p.x.singles;
    RowSorter sorter(p);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const Offset begin = p.x.offsets[r];
        sorter.add(p.x.ids.data() + begin, p.x.values.data() + begin,
                   static_cast<std::size_t>(p.x.offsets[r + 1] - begin), begin);
    }
    return p;
}

}  // namespace xtrellis::linear
