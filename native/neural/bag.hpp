// The first layer of a network over sparse rows: a weighted sum of embeddings, and the update of only those that were
// used. Adagrad with one accumulator a row keeps the optimiser's memory at one float an embedding.
#pragma once

#include <span>

#include "core/csr.hpp"

namespace xtrellis::neural {

// out[r] = Σ_f x_rf W[f] for rows first .. last; W is columns × dim. Added in the order of the row's entries.
void bag(const Csr& batch, Offset first, Offset last, const float* W, Offset dim, float* out);

struct Step {
    float rate;
    float epsilon;
};

// One Adagrad step of the embeddings of columns first .. last: their gradient is Σ_r x_rf G[r], never stored as a
// whole. `squares` (dim) receives by how much the sums of squares of W's columns have changed.
void update_bag(std::span<const Id> ids, const Offset* offsets, const Id* rows, const float* values, Offset first,
                Offset last, const float* G, Offset dim, float* W, float* sums, Step step, double* squares);

// One Adagrad step along the unit sphere: row ids[i] of V has gradient G[i].
void update_unit(std::span<const Id> ids, const float* G, Offset dim, float* V, float* sums, Step step);

}  // namespace xtrellis::neural
