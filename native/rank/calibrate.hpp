// A decision tree over (p, q, p·q, label frequency): how likely a candidate is right, given what both models say.
#pragma once

#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis::rank {

// Node v asks whether input `feature[v]` is at most threshold[v]: left[v] if so, else right[v]. feature[v] < 0: a leaf.
// Children have greater numbers than their parent, so every walk ends.
struct DecisionTree {
    const Id* feature;
    const double* threshold;
    const Id* left;
    const Id* right;
    const float* value;
};

inline float evaluate(const DecisionTree& t, const float* inputs) {
    Id node = 0;
    while (t.feature[node] >= 0) node = inputs[t.feature[node]] <= t.threshold[node] ? t.left[node] : t.right[node];
    return t.value[node];
}

// Entries first .. last of p, q and their labels (-1: left as it is); `frequency` is one per label.
inline void calibrate(const DecisionTree& t, Offset first, Offset last, const float* p, const float* q,
                      const Id* labels, const float* frequency, float* out) {
    for (Offset i = first; i < last; ++i) {
        if (labels[i] < 0) continue;
        const float inputs[4] = {p[i], q[i], p[i] * q[i], frequency[labels[i]]};
        out[i] = evaluate(t, inputs);
    }
}

}  // namespace xtrellis::rank
