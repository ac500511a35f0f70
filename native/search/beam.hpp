// Beam search: level by level, the best `beam` nodes of a query stay. Two ways to the same answer:
//   batch   a level is walked node by node, serving all queries that hold the node from one feature table;
//   single  one query, nodes in order of score.
// Scores never grow along a path, so a node that cannot beat the k-th best label found so far is left out: this changes
// the time, never the answer.
#pragma once

#include <cstdint>

#include "core/topk.hpp"
#include "search/model.hpp"

namespace xtrellis::search {

struct BeamSettings {
    Id beam = 10;
    Id k = 10;
};

// Rows first .. last of X; `labels` and `scores` are (last − first) × k.
void search_batch(const Model& model, const Csr& X, Offset first, Offset last, BeamSettings settings, Id* labels, float* scores);

void search_single(const Model& model, const SparseRow& x, BeamSettings settings, Id* labels, float* scores);

}  // namespace xtrellis::search
