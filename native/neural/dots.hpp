// Inner products of dense rows, and the labels with the largest. Every product is added in one order, whatever rows and
// labels it is computed together with: an answer does not depend on the batch it was asked in. (BLAS promises less.)
#pragma once

#include "core/csr.hpp"

namespace xtrellis::neural {

// out[i][j] = a_i · b_j for n × dim and m × dim rows.
void products(const float* a, Offset n, const float* b, Offset m, Offset dim, float* out);

// The k labels with the largest products for each of n queries; -1 pads if there are fewer than k.
void best_of_all(const float* queries, Offset n, const float* vectors, Offset labels, Offset dim, Offset k, Id* found,
                 float* scores);

}  // namespace xtrellis::neural
