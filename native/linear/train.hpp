// Train the classifiers of one block: up to 256 children of one node.
#pragma once

#include <cstdint>
#include <span>

#include "core/cpu.hpp"
#include "linear/block.hpp"
#include "linear/problem.hpp"
#include "linear/solve.hpp"

namespace xtrellis::linear {

// What the rows of a node have: row r of the node is row `rows[r]` of X and belongs to the children
// `positives[offsets[r] .. offsets[r+1])`, numbered within the node.
struct NodeRows {
    std::span<const Id> rows;
    const Offset* offsets;
    const Id* positives;
    const float* weights = nullptr;  // how much the rows of X count; null: all are alike
};

// A problem as the solver takes it; `lightness` as in Rows.
inline Rows rows_of(const Problem& p, const float* lightness = nullptr) {
    Rows rows{static_cast<std::uint32_t>(p.rows()),
              p.x.offsets.data(),
              p.shared.data(),
              p.x.offsets.data() + 1,
              p.x.ids.data(),
              p.x.values.data(),
              p.norms.data(),
              p.own.data(),
              p.bias,
              lightness,
              p.file.get(),
              p.file ? fetch_row : nullptr};
    if (p.file) {
        rows.expect = expect_row;
        rows.slow = p.file->slow();
        rows.kept = p.file->kept();
        rows.in_memory = p.file->in_memory();
    }
    return rows;
}

// Children first .. first + count (count ≤ 256) of a node. `key` seeds the order of the rows. Instructions that the
// machine lacks become the best that it has; tests ask for others.
Block train_block(const Csr& X, const NodeRows& node, int first, int count, float bias, const Settings& settings,
                  Pruning pruning, std::uint64_t key, InstructionSet instructions = InstructionSet::avx512);

// The lock-step solver for the best instruction set of this machine; `group` is 1, 4, 8, 16 or 32 lanes.
Outcome solve_group_here(int group, const Rows& rows, const std::uint32_t* masks, int lanes, const Settings& settings,
                         std::uint64_t key, const Arrays& arrays);

}  // namespace xtrellis::linear
