// Margins of given labels: a row's features are spread over a dense line, then every candidate reads its own weights.
//
// Weights lie label by label, so a candidate is one stream through memory; what a row lacks is multiplied by 0. That is
// faster than looking features up as long as a label's weights are not many times the row's features: then the row's
// features are looked for among the weights instead, and so they are where a line would be too long.
// O(candidates · min(weights, features · log weights)).
#pragma once

#include <span>

#include "core/csr.hpp"

namespace xtrellis::rank {

// Weights of label l: features[offsets[l] .. offsets[l + 1]), ascending, each with a weight; and one bias.
struct Classifiers {
    const Offset* offsets;
    const Id* features;
    const float* weights;
    const float* biases;
};

// Row i of X against labels[i · width .. (i + 1) · width), for rows first .. last; a label of -1 is left as it is.
void margins(const Classifiers& c, const Csr& X, Offset first, Offset last, const Id* labels, Offset width, float* out);

}  // namespace xtrellis::rank
