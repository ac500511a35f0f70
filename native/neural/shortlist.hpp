// A model with a learned index of labels (ELIAS, Gupta et al. 2022): clusters lead to labels by weighted edges, a row
// scores only the labels that its best clusters lead to. All scores of clusters, edges and paths are logarithms.
// Nothing of the size rows × shortlist × dim exists: products and their gradients read the label vectors where they
// lie.
#pragma once

#include <span>

#include "core/csr.hpp"

namespace xtrellis::neural {

// The `beam` largest of each row, best first; equal ones by number.
void beam(const float* scores, Offset n, Offset clusters, Offset beam, Id* found);

// Edges of clusters to labels, `width` places a cluster; -1 in `ids` for an empty place. Each label at most once a
// cluster. `scores` are e^logs; they are read only with shares.
struct Edges {
    const Id* ids;
    const float* logs;
    const float* scores;
    Offset width;
    Offset labels;
};

// The best labels of each row: log ŷ_l = max over the row's clusters c with an edge to l of logs[c] + edge(c, l).
// With `shares` (how much of the row each cluster has; null: without) the best are those of the largest sum of
// shares[c] · scores(c, l) instead; ŷ stays what it is. Labels in `wanted` come before all others, so that training
// never loses them. Where a row reaches fewer than k labels, -1 pads. `paths` says which way was the best: place in the
// beam · width + place in the cluster.
void shortlist(const Id* clusters, const float* logs, const float* shares, Offset n, Offset beam, const Edges& edges,
               const Csr& wanted, Offset k, Id* labels, float* log_scores, std::int32_t* paths);

// Its gradient: what a row's label gets goes to the one cluster and the one edge that its best path has.
// `by_edge` (clusters × width) is added to.
void shortlist_back(const float* gradient, const std::int32_t* paths, const Id* clusters, Offset n, Offset beam,
                    Offset k, Offset width, float* by_cluster, float* by_edge);

// out[r][j] = a_r · W[ids[r][j]], 0 where the id is -1.
void gather_dots(const float* a, Offset n, Offset dim, const float* W, const Id* ids, Offset k, float* out);

// Gradient by a: out[r] = Σ_j g[r][j] W[ids[r][j]].
void gather_sums(const float* g, Offset n, Offset dim, const float* W, const Id* ids, Offset k, float* out);

// Gradient by rows of W, given the entries of g by label as `by_column` sorts them: out[c] = Σ g A[row].
void scatter_sums(const Offset* offsets, const Id* rows, const float* g, Offset first, Offset last, const float* A,
                  Offset dim, float* out);

struct AdamStep {
    float rate, beta1, beta2, correction1, correction2, epsilon, decay;
};

// A step of Adam with decoupled decay for n numbers.
void adam(const float* gradient, Offset n, float* values, float* moment1, float* moment2, AdamStep step);

// The sums of `scatter_sums`, and at once such a step for the rows of W that were touched; the gradient is never
// stored. The last entry of a row is its bias and does not decay.
void update_rows(std::span<const Id> ids, const Offset* offsets, const Id* rows, const float* g, Offset first,
                 Offset last, const float* A, Offset dim, float* W, float* moment1, float* moment2, AdamStep step);

// The k labels of each shortlist with the largest log σ(a·w_l) + log ŷ_l; -1 pads.
void rank(const float* a, Offset n, Offset dim, const float* W, const Id* ids, const float* log_scores, Offset width,
          Offset k, Id* found, float* scores);

}  // namespace xtrellis::neural
