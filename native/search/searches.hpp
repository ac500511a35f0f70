// The ways to search a packed model.
#pragma once

#include "core/csr.hpp"
#include "search/seen.hpp"

namespace xtrellis::search {

// Beam search of many queries, level by level: the best `beam` nodes of a query stay. A level is walked node by node,
// so that a node's weights are near when all queries that hold it ask for them. Rows first .. last of X; `labels` and
// `scores` are (last − first) × k.
void beam_batch(const Model& model, const Csr& X, Offset first, Offset last, const Request& request, Id* labels,
                float* scores);

// Best-first search: always expands the best node reached so far and stops when no node can hold a better label, so the
// answer is the exact top k (without a beam, and without slack). With a beam, at most so many nodes of a level are
// expanded, and the answer is that of beam search: a node comes out of the queue after every better one of its level
// and before its own children. Returns the number of nodes expanded.
Offset best_first(const Model& model, const SparseRow& x, const Request& request, Id* labels, float* scores);

// The same with what was seen before (`seen.begin` is of this model and row), which grows.
void best_first_seen(const Model& model, const SparseRow& x, const Request& request, Id* labels, float* scores,
                     Seen& seen);

// Where labels sit and what lies above (LabelTree's arrays).
struct Places {
    const Id* owner;              // the node of each slot
    const Id* node_slot;          // the slot that leads to each node, -1 for the root
    const Offset* label_offsets;  // slots of label l: label_slots[label_offsets[l] ..)
    const Id* label_slots;
};

// Scores of given labels: only the nodes above them are evaluated. All copies of a label count, by their best or mean.
void given(const Model& model, const Places& places, const SparseRow& x, std::span<const Id> labels, float* scores);

// The score of one label. Where it is sure to be less than `least` (a logarithm): anything less, and not less than it.
float given_seen(const Model& model, const Places& places, const SparseRow& x, Id label, float least, Seen& seen);

}  // namespace xtrellis::search
