// Approximate search for large inner products: a walk over a graph of labels that are near each other (the bottom layer
// of an HNSW graph: Malkov & Yashunin 2018), from a few entries that are all looked at.
#pragma once

#include "core/csr.hpp"

namespace xtrellis::neural {

struct Graph {
    const Id* neighbours;  // labels × width, -1 pads
    Offset width;
    const Id* entries;
    Offset n_entries;
};

// The k best labels that a walk finds which goes on from the best label not yet left, as long as that is among the
// `beam` best seen. Cost: about beam · width / 2 products.
void walk(const Graph& graph, const float* queries, Offset n, const float* vectors, Offset labels, Offset dim, Offset beam,
          Offset k, Id* found, float* scores);

}  // namespace xtrellis::neural
