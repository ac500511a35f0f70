// One node's training problem. All children of a node see the same rows, so it is built once and shared by them.
#pragma once

#include <span>
#include <vector>

#include "core/compact.hpp"

namespace xtrellis::linear {

struct Problem {
    Compact x;                 // the node's rows over the features that occur in them
    std::vector<float> norms;  // squared length of each row, bias included
    float bias = 0;            // value of the constant feature; 0 means none

    Offset rows() const { return x.rows(); }
    Id width() const { return x.width(); }
};

inline Problem build_problem(const Csr& X, std::span<const Id> rows, float bias, ColumnMap& scratch) {
    Problem p{compact(X, rows, scratch), {}, bias};
    p.norms.reserve(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
        float norm = bias * bias;
        for (const float value : p.x[r].values) norm += value * value;
        p.norms.push_back(norm);
    }
    return p;
}

}  // namespace xtrellis::linear
