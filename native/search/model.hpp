// A packed model as search sees it: a tree of slots and, for each node, blocks of weights stored by feature.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis::search {

// How a margin becomes a score in (0, 1]. Search works with logarithms: sums along a path, one exp for each answer.
enum class Transform : int { l2_hinge = 0, l3_hinge = 1, sigmoid = 2 };

inline float log_score(Transform transform, float margin) {
    if (transform == Transform::sigmoid) return margin >= 0 ? -std::log1p(std::exp(-margin)) : margin - std::log1p(std::exp(margin));
    const float gap = margin < 1 ? 1 - margin : 0;
    return transform == Transform::l3_hinge ? -gap * gap * gap : -gap * gap;
}

struct Tree {
    Offset nodes = 0, labels = 0;
    const Offset* offsets = nullptr;  // slots of node v: offsets[v] .. offsets[v+1)
    const Id* children = nullptr;     // node ≥ 0, or ~label
};

// Block b: children first .. first + 256 of a node. Its features (ascending) are features[feature_offsets[b] ..), the
// entries of its r-th feature begin at starts[..r] relative to entry_offsets[b].
struct Weights {
    const Offset* block_offsets = nullptr;    // nodes + 1: blocks of node v
    const Offset* feature_offsets = nullptr;  // blocks + 1
    const Offset* entry_offsets = nullptr;    // blocks + 1
    const Id* features = nullptr;
    const std::uint32_t* starts = nullptr;
    const std::uint8_t* children = nullptr;
    const float* values = nullptr;
    const float* biases = nullptr;            // one a slot
    Id n_features = 0;
};

struct Model {
    Tree tree;
    Weights weights;
    Transform transform = Transform::l3_hinge;
};

constexpr int max_block = 256;

}  // namespace xtrellis::search
