// Boosted symmetric trees as they are stored. Apart from boost.hpp: files for one instruction set read this too.
#pragma once

#include "core/csr.hpp"

namespace xtrellis::rank {

// Tree t asks at level l whether input feature[t, l] exceeds threshold[t, l]; the answers are the bits of the leaf.
struct SymmetricTrees {
    const Id* feature;
    const float* threshold;
    const float* value;  // n_trees × 2^depth
    Offset n_trees;
    Offset depth;
};

}  // namespace xtrellis::rank
