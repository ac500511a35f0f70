// Which rows a node is trained on: every row goes down the tree along the paths of its labels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/csr.hpp"

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

struct Routes {
    std::vector<Offset> node_offsets;      // nodes + 1, into rows
    std::vector<Id> rows;                  // rows of a node, ascending
    std::vector<Offset> positive_offsets;  // rows + 1, into positives
    std::vector<Id> positives;             // children of the node that hold a label of the row, ascending
};

// Teacher forcing: row i visits exactly the nodes above its labels. O(Σ labels × depth).
// The root also sees the rows without labels, as negatives of all its children.
inline Routes route_by_labels(const Offset* y_offsets, const Id* y_ids, Offset rows, const Slots& tree) {
    // Per row: the set of slots above its labels, without repeats, ascending (so grouped by owner).
    std::vector<Offset> row_offsets(static_cast<std::size_t>(rows) + 1, 0);
    std::vector<Id> visited;
    std::vector<Id> path;
    std::vector<Offset> visits(static_cast<std::size_t>(tree.nodes) + 1, 0);
    for (Offset i = 0; i < rows; ++i) {
        path.clear();
        for (Offset j = y_offsets[i]; j < y_offsets[i + 1]; ++j) {
            const Id label = y_ids[j];
            for (Offset c = tree.label_offsets[label]; c < tree.label_offsets[label + 1]; ++c) {
                for (Id slot = tree.label_slots[c]; slot >= 0; slot = tree.node_slot[tree.owner[slot]]) path.push_back(slot);
            }
        }
        std::sort(path.begin(), path.end());
        path.erase(std::unique(path.begin(), path.end()), path.end());
        Id last = -1;
        for (const Id slot : path) {
            const Id node = tree.owner[slot];
            if (node != last) ++visits[static_cast<std::size_t>(node) + 1];
            last = node;
        }
        if (path.empty()) ++visits[1];
        visited.insert(visited.end(), path.begin(), path.end());
        row_offsets[static_cast<std::size_t>(i) + 1] = static_cast<Offset>(visited.size());
    }
    // Second walk: every (row, node) visit goes to its node's list; rows come in order, so lists are ascending.
    Routes out;
    for (std::size_t v = 0; v < static_cast<std::size_t>(tree.nodes); ++v) visits[v + 1] += visits[v];
    out.node_offsets = visits;
    const auto total = static_cast<std::size_t>(visits.back());
    out.rows.resize(total);
    std::vector<std::uint32_t> counts(total, 0);
    std::vector<Offset> next(visits.begin(), visits.end() - 1);
    const auto each_visit = [&](Offset i, auto&& begin_visit, auto&& slot_seen) {
        Id last = -1;
        Offset at = -1;
        const Offset begin = row_offsets[static_cast<std::size_t>(i)], end = row_offsets[static_cast<std::size_t>(i) + 1];
        if (begin == end) begin_visit(0);
        for (Offset j = begin; j < end; ++j) {
            const Id slot = visited[static_cast<std::size_t>(j)], node = tree.owner[slot];
            if (node != last) at = begin_visit(node);
            slot_seen(at, static_cast<Id>(slot - tree.offsets[node]));
            last = node;
        }
    };
    for (Offset i = 0; i < rows; ++i) {
        each_visit(
            i,
            [&](Id node) {
                const Offset at = next[static_cast<std::size_t>(node)]++;
                out.rows[static_cast<std::size_t>(at)] = static_cast<Id>(i);
                return at;
            },
            [&](Offset at, Id) { ++counts[static_cast<std::size_t>(at)]; });
    }
    out.positive_offsets.resize(total + 1, 0);
    for (std::size_t t = 0; t < total; ++t) out.positive_offsets[t + 1] = out.positive_offsets[t] + counts[t];
    out.positives.resize(static_cast<std::size_t>(out.positive_offsets.back()));
    std::vector<Offset> fill(out.positive_offsets.begin(), out.positive_offsets.end() - 1);
    next.assign(visits.begin(), visits.end() - 1);
    for (Offset i = 0; i < rows; ++i) {
        each_visit(
            i, [&](Id node) { return next[static_cast<std::size_t>(node)]++; },
            [&](Offset at, Id child) { out.positives[static_cast<std::size_t>(fill[static_cast<std::size_t>(at)]++)] = child; });
    }
    return out;
}

}  // namespace xtrellis::linear
