// Train classifiers that share no rows: each has a list of its own, of rows that have its label or might have had it.
//
// They are solved one at a time, on the rows of X as they are: a problem of its own, with its features renumbered,
// costs more to make than to solve where it serves one classifier. Lanes of one problem share rows; labels that are
// candidates of much the same rows are rare enough that putting them together would look at more rows than it saves.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/block.hpp"
#include "linear/solve.hpp"

namespace xtrellis::linear {

// Rows of label l: rows[offsets[l] .. offsets[l + 1]), each with 1 in `positive` if it has the label.
struct OwnRows {
    const Offset* offsets;
    const Id* rows;
    const std::uint8_t* positive;
};

// Plain classifiers, one after another: features ascending, weights beside them, one bias each.
struct Classifiers {
    std::vector<Offset> offsets;
    std::vector<Id> features;
    std::vector<float> weights;
    std::vector<float> biases;
};

// Labels first .. last. A label that no row has is not trained: it gets no weights and the bias -1, a sure "no".
Classifiers train_each(const Csr& X, const OwnRows& own, Offset first, Offset last, float bias,
                       const Settings& settings, Pruning pruning, std::uint64_t key);

}  // namespace xtrellis::linear
