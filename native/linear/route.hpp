// Which rows a node is trained on, for a run of nodes of one level: rows go down the tree along the paths of their
// labels (teacher forcing), to the nodes that search would look at (matcher-aware), or both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/spill.hpp"

namespace xtrellis::linear {

// A tree as arrays. Slot e is a child of node `owner[e]`; children of node v are the slots offsets[v] .. offsets[v+1).
// `node_slot[v]` is the slot that leads to node v (-1 for the root); a label may sit in several slots.
struct Slots {
    Offset nodes, labels;
    const Offset* offsets;
    const Id* owner;
    const Id* node_slot;
    const Offset* label_offsets;  // slots of label l: label_slots[label_offsets[l] .. label_offsets[l+1])
    const Id* label_slots;
};

// What search has reached: row i holds the nodes `nodes[offsets[i] .. offsets[i+1])`, ascending. Null: nothing is
// known.
struct Reached {
    const Offset* offsets = nullptr;
    const Id* nodes = nullptr;
};

struct Routes {
    std::vector<Offset> node_offsets;   // nodes + 1, into rows
    Spilling<Id> rows;                  // rows of a node, ascending
    Spilling<Offset> positive_offsets;  // rows + 1, into positives
    Spilling<Id> positives;             // children of the node that hold a label of the row, ascending
};

// For every place of a label: the slot above it (or itself) that belongs to one of the nodes first .. last, or -1.
// Climbing once for each label instead of once for each label of each row keeps a level's cost at one walk over Y.
inline std::vector<Id> slots_above_labels(const Slots& tree, Id first, Id last) {
    const Offset places = tree.label_offsets[tree.labels];
    std::vector<Id> above(static_cast<std::size_t>(places));
    for (Offset c = 0; c < places; ++c) {
        Id slot = tree.label_slots[c];
        // Nodes are numbered breadth first, so a path's numbers fall on the way up.
        while (slot >= 0 && tree.owner[slot] >= last) slot = tree.node_slot[tree.owner[slot]];
        above[static_cast<std::size_t>(c)] = slot >= 0 && tree.owner[slot] >= first ? slot : -1;
    }
    return above;
}

// Nodes first .. last, all of one level. With `teacher`, row i visits the nodes above its labels; with `reached`, those
// that search reached; every row visits the root, label-less ones as negatives of all its children.
// O(labels × depth + non-zeros of Y + visits).
inline Routes route(const Offset* y_offsets, const Id* y_ids, Offset rows, const Slots& tree, Id first, Id last,
                    bool teacher, Reached reached) {
    const std::vector<Id> above = slots_above_labels(tree, first, last);
    // Visits in the order of the rows: (node, row, where its positives begin), then sorted by node by counting.
    Spilling<Id> visit_nodes, visit_rows, children;
    Spilling<Offset> begins;
    std::vector<Id> path;
    const auto visit = [&](Id node, Offset row) {
        visit_nodes.push_back(node - first);
        visit_rows.push_back(static_cast<Id>(row));
        begins.push_back(static_cast<Offset>(children.size()));
    };
    for (Offset i = 0; i < rows; ++i) {
        path.clear();
        for (Offset j = y_offsets[i]; j < y_offsets[i + 1]; ++j) {
            const Id label = y_ids[j];
            for (Offset c = tree.label_offsets[label]; c < tree.label_offsets[label + 1]; ++c) {
                if (above[static_cast<std::size_t>(c)] >= 0) path.push_back(above[static_cast<std::size_t>(c)]);
            }
        }
        std::sort(path.begin(), path.end());
        path.erase(std::unique(path.begin(), path.end()), path.end());
        const Id* held = nullptr;
        const Id* held_end = nullptr;
        if (reached.offsets) {
            held = std::lower_bound(reached.nodes + reached.offsets[i], reached.nodes + reached.offsets[i + 1], first);
            held_end = std::lower_bound(held, reached.nodes + reached.offsets[i + 1], last);
        }
        if (first == 0 && path.empty() && held == held_end) visit(0, i);
        // Both lists ascend by node: a merge.
        for (std::size_t at = 0; at < path.size() || held < held_end;) {
            const Id of_labels = at < path.size() ? tree.owner[path[at]] : last;
            const Id node = held < held_end ? std::min(*held, of_labels) : of_labels;
            const bool held_here = held < held_end && *held == node;
            if (held_here) ++held;
            const bool wanted = teacher || held_here || node == 0;
            if (wanted) visit(node, i);
            for (; at < path.size() && tree.owner[path[at]] == node; ++at) {
                if (wanted) children.push_back(static_cast<Id>(path[at] - tree.offsets[node]));
            }
        }
    }
    begins.push_back(static_cast<Offset>(children.size()));

    Routes out;
    out.node_offsets.assign(static_cast<std::size_t>(last - first) + 1, 0);
    for (const Id node : visit_nodes) ++out.node_offsets[static_cast<std::size_t>(node) + 1];
    for (std::size_t v = 1; v < out.node_offsets.size(); ++v) out.node_offsets[v] += out.node_offsets[v - 1];
    const std::size_t total = visit_nodes.size();
    std::vector<Offset> next(out.node_offsets.begin(), out.node_offsets.end() - 1);
    out.rows.resize(total);
    out.positive_offsets.assign(total + 1, 0);
    for (std::size_t t = 0; t < total; ++t) {
        const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(visit_nodes[t])]++);
        out.rows[at] = visit_rows[t];
        out.positive_offsets[at + 1] = begins[t + 1] - begins[t];
    }
    for (std::size_t t = 0; t < total; ++t) out.positive_offsets[t + 1] += out.positive_offsets[t];
    next.assign(out.node_offsets.begin(), out.node_offsets.end() - 1);
    out.positives.resize(children.size());
    for (std::size_t t = 0; t < total; ++t) {
        const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(visit_nodes[t])]++);
        std::copy(children.begin() + begins[t], children.begin() + begins[t + 1],
                  out.positives.begin() + out.positive_offsets[at]);
    }
    return out;
}

}  // namespace xtrellis::linear
