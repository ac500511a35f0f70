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
};

// Children first .. first + count (count ≤ 256) of a node. `key` seeds the order of the rows. Instructions that the
// machine lacks become the best that it has; tests ask for others.
Block train_block(const Csr& X, const NodeRows& node, int first, int count, float bias, const Settings& settings,
                  Pruning pruning, std::uint64_t key, InstructionSet instructions = InstructionSet::avx512);

// The lock-step solver for the best instruction set of this machine; `group` is 4, 8, 16 or 32 lanes.
Outcome solve_group_here(int group, const Rows& rows, const std::uint32_t* masks, int lanes, const Settings& settings,
                         std::uint64_t key, const Arrays& arrays);

}  // namespace xtrellis::linear
