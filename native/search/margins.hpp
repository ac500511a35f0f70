// Margins of all children of a node for one query: the innermost loop of every search.
#pragma once

#include <algorithm>
#include <vector>

#include "search/model.hpp"

namespace xtrellis::search {

// A model file's offsets by block are checked when it is opened; what lies inside the blocks is not, since that would
// read the whole file. The three places marked [guard] keep any content inside the arrays.

// Add one feature's entries of block b to the margins (always max_block of them).
inline void add_feature(const Weights& w, Offset block, Offset row, float x, float* margins) {
    const Offset base = w.entry_offsets[block], last = w.entry_offsets[block + 1];
    const Offset begin = base + w.starts[row];
    const Offset next = row + 1 < w.feature_offsets[block + 1] ? base + w.starts[row + 1] : last;
    const Offset end = std::min(next, last);  // [guard]
    for (Offset e = begin; e < end; ++e) margins[w.children[e]] += x * w.values[e];
}

// For many queries at one block: the place of each feature is written into a table as long as the feature space once,
// then every look-up is one load. The table is all -1 between blocks.
class FeatureTable {
public:
    explicit FeatureTable(Id n_features) : rows_(static_cast<std::size_t>(n_features), -1) {}
    void open(const Weights& w, Offset block) {
        first_ = w.feature_offsets[block];
        for (Offset r = first_; r < w.feature_offsets[block + 1]; ++r) set(w.features[r], static_cast<std::int32_t>(r - first_));
    }
    void close(const Weights& w, Offset block) {
        for (Offset r = first_; r < w.feature_offsets[block + 1]; ++r) set(w.features[r], -1);
    }
    void add(const Weights& w, Offset block, const SparseRow& x, float* margins) const {
        for (std::size_t i = 0; i < x.size(); ++i) {
            const std::int32_t row = rows_[x.ids[i]];
            if (row >= 0) add_feature(w, block, first_ + row, x.values[i], margins);
        }
    }

private:
    void set(Id feature, std::int32_t row) {
        if (static_cast<std::size_t>(static_cast<std::uint32_t>(feature)) < rows_.size()) rows_[feature] = row;  // [guard]
    }
    std::vector<std::int32_t> rows_;
    Offset first_ = 0;
};

// For one query: both lists ascend, so each search starts where the last one ended.
inline void add_by_search(const Weights& w, Offset block, const SparseRow& x, float* margins) {
    const Id* at = w.features + w.feature_offsets[block];
    const Id* const end = w.features + w.feature_offsets[block + 1];
    for (std::size_t i = 0; i < x.size() && at < end; ++i) {
        at = std::lower_bound(at, end, x.ids[i]);  // [guard] never leaves the block, sorted or not
        if (at < end && *at == x.ids[i]) add_feature(w, block, at - w.features, x.values[i], margins);
    }
}

}  // namespace xtrellis::search
