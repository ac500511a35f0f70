// What a label tree looks like to hierarchical softmax: which output vectors ("units") a node has.
//
// A node with two children is one logistic unit: P(first child) = σ(w·h). A node with c > 2 children has c units and a
// softmax over them; a node with one child needs none. The units of a node lie together.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "core/csr.hpp"
#include "softmax/step.hpp"

namespace xtrellis::softmax {

struct Tree {
    Offset nodes = 0;
    Offset slots = 0;
    bool copies = false;              // some label sits in several slots
    const Offset* offsets = nullptr;  // of a node's slots
    const Id* children = nullptr;     // a slot's node, or ~label
    const Id* owner = nullptr;        // the node of a slot
    const Id* node_slot = nullptr;    // the slot that leads to a node; -1 for the root
    const Id* unit_begin = nullptr;   // a node's first unit; nodes + 1 entries

    Id arity(Id node) const { return static_cast<Id>(offsets[node + 1] - offsets[node]); }
};

// The decisions of every slot that holds a label, root first, in one piece: training reads them without look-ups.
struct Paths {
    std::vector<Offset> offsets;  // slots + 1 entries; slots that lead to nodes have none
    std::vector<Decision> decisions;
    std::int64_t most_units = 0;  // of any path

    explicit Paths(const Tree& tree) : offsets(static_cast<std::size_t>(tree.slots) + 1, 0) {
        const auto walk = [&](Offset slot, auto visit) {
            while (true) {
                const Id node = tree.owner[slot];
                if (tree.arity(node) > 1) visit(node, static_cast<Id>(slot - tree.offsets[node]));
                if (tree.node_slot[node] < 0) return;
                slot = tree.node_slot[node];
            }
        };
        for (Offset slot = 0; slot < tree.slots; ++slot) {
            Offset length = 0;
            if (tree.children[slot] < 0) walk(slot, [&](Id, Id) { ++length; });
            offsets[static_cast<std::size_t>(slot) + 1] = offsets[static_cast<std::size_t>(slot)] + length;
        }
        decisions.resize(static_cast<std::size_t>(offsets.back()));
        for (Offset slot = 0; slot < tree.slots; ++slot) {
            if (tree.children[slot] >= 0) continue;
            auto at = static_cast<std::size_t>(offsets[static_cast<std::size_t>(slot) + 1]);
            std::int64_t units = 0;
            walk(slot, [&](Id node, Id child) {
                const Id count = tree.unit_begin[node + 1] - tree.unit_begin[node];
                decisions[--at] = {tree.unit_begin[node], count == 1 ? ~child : child, count};
                units += count;
            });
            if (units > most_units) most_units = units;
        }
    }
};

// How a row's features are weighed.
enum class Weighing : int {
    average = 0,   // every feature alike, as fastText does: the mean of their vectors
    weighted = 1,  // the mean weighted by the features' values
    unit = 2,      // the sum weighted by the values, scaled to unit length
};

inline RowWeights row_weights(Weighing weighing, SparseRow row, float bias) {
    float total = static_cast<float>(row.size());
    if (weighing == Weighing::unit) {
        float square = 0;
        for (const float v : row.values) square += v * v;
        const float length = std::sqrt(square);
        return length > 0 && length < std::numeric_limits<float>::infinity() ? RowWeights{1 / length, bias * length}
                                                                             : RowWeights{1, bias};
    }
    if (weighing == Weighing::weighted) {
        total = 0;
        for (const float v : row.values) total += v < 0 ? -v : v;
        // The constant counts as one more feature of mean weight, however the values are scaled.
        if (total > 0) bias *= total / static_cast<float>(row.size());
    }
    const float sum = total + bias;
    return {sum > 0 ? 1 / sum : 0, bias};
}

}  // namespace xtrellis::softmax
