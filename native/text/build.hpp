// From everything that was counted to a vocabulary: prune, sort, lay out.
#pragma once

#include <cstdint>
#include <vector>

#include "text/counter.hpp"
#include "text/vocabulary.hpp"

namespace xtrellis::text {

struct Limits {
    double least_rows = 1;  // of a feature; shares have become numbers of rows
    double most_rows = 0;
    std::uint64_t most_features = ~0ull;
};

struct Built {
    Roomy<Byte> name_text;
    Roomy<Offset> name_offsets{0};
    Roomy<Byte> word_text;
    Roomy<Offset> word_offsets{0};
    Roomy<std::uint64_t> word_table;
    Roomy<Id> word_features;
    Roomy<std::uint32_t> gram_table;  // four numbers a slot
    Roomy<std::uint64_t> piece_table;
    Id first_piece = 0;
    Roomy<std::uint32_t> rows;  // of each feature
    // The counter's numbers -> features (-1: pruned).
    Roomy<Id> gram_features;
    Roomy<Id> piece_features;
};

Built build(const Counter& counter, const Limits& limits);

// The second pass: counted rows, by the counter's numbers, to tf-idf rows.
Rows weigh(const Offset* offsets, Offset rows, const Count* counts, const Id* gram_features, const Id* piece_features,
           const float* idf, const Settings& settings);

}  // namespace xtrellis::text
