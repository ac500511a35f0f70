// The ways to search a packed model.
#pragma once

#include "core/csr.hpp"
#include "search/walk.hpp"

namespace xtrellis::search {

// Beam search, level by level: the best `beam` nodes of a query stay. Batch walks a level node by node and serves all
// queries that hold the node from one table; single takes one query. Both give the same answer.
// Rows first .. last of X; `labels` and `scores` are (last − first) × k.
void beam_batch(const Model& model, const Csr& X, Offset first, Offset last, const Request& request, Id* labels, float* scores);
void beam_single(const Model& model, const SparseRow& x, const Request& request, Id* labels, float* scores);

// Best-first search: always expands the best node reached so far and stops when no node can hold a better label, so the
// answer is the exact top k (without a beam, and without slack). If copies count by their mean, it is over all copies of
// a label without a beam, and over those in expanded nodes with one. Returns the number of nodes expanded.
Offset best_first(const Model& model, const SparseRow& x, const Request& request, Id* labels, float* scores);

// Scores of given labels: only the nodes above them are evaluated. All copies of a label count, by their best or mean.
void given(const Model& model, const Places& places, const SparseRow& x, std::span<const Id> labels, float* scores);

}  // namespace xtrellis::search
