// One node's training problem. All children of a node see the same rows, so it is built once and shared by them.
//
// A feature that occurs in one row only (most do, in a small node) has the weight x_f·(α·y) of that row and no other
// part to play: what all such features of a row add to its margin is |own part|²·(α·y). So they take no part in the
// solver's loops at all; their weights are written down at the end. This is exact.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/compact.hpp"

namespace xtrellis::linear {

struct Problem {
    Compact x;                // the node's rows over the features that occur in them; shared features first in a row
    Spilling<Offset> shared;  // where the shared features of each row end
    Spilling<float> norms;    // squared length of each row, bias included
    Spilling<float> own;      // squared length of the part that no other row has
    Id shared_width = 0;      // features that several rows have: the first ones
    float bias = 0;           // value of the constant feature; 0 means none

    Offset rows() const { return x.rows(); }
    Id width() const { return x.width(); }
};

inline Problem build_problem(const Csr& X, std::span<const Id> rows, float bias, ColumnMap& scratch) {
    Problem p;
    p.bias = bias;
    p.x = compact(X, rows, scratch);
    p.shared_width = p.x.width() - p.x.singles;
    p.norms.reserve(rows.size());
    p.own.reserve(rows.size());
    p.shared.reserve(rows.size());
    std::vector<std::pair<Id, float>> apart;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        float norm = bias * bias, own = 0;
        Offset keep = p.x.offsets[r];
        apart.clear();
        for (Offset i = keep; i < p.x.offsets[r + 1]; ++i) {
            const Id id = p.x.ids[static_cast<std::size_t>(i)];
            const float value = p.x.values[static_cast<std::size_t>(i)];
            norm += value * value;
            if (id >= p.shared_width) {
                own += value * value;
                apart.push_back({id, value});
            } else {
                p.x.ids[static_cast<std::size_t>(keep)] = id;
                p.x.values[static_cast<std::size_t>(keep++)] = value;
            }
        }
        p.shared.push_back(keep);
        for (const auto& [id, value] : apart) {
            p.x.ids[static_cast<std::size_t>(keep)] = id;
            p.x.values[static_cast<std::size_t>(keep++)] = value;
        }
        p.norms.push_back(norm);
        p.own.push_back(own);
    }
    return p;
}

}  // namespace xtrellis::linear
