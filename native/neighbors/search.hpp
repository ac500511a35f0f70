// The most similar training rows of a query, exactly.
//
// The lists of the query's features, added up, bound for every group of blocks, and for the blocks of the groups that
// are left, how similar a row of it can be. Blocks are then looked into by falling bounds, until no bound reaches the
// worst of the answers (Mallia, Suel and Tonellotto: Faster Learned Sparse Retrieval with Block-Max Pruning, SIGIR
// 2024): hardly any others than those that reach the similarity of the last answer. Within a block, the upper halves of
// values bound the rows in the same way; those that reach it are compared exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/topk.hpp"
#include "neighbors/scan.hpp"
#include "neighbors/segment.hpp"

namespace xtrellis::neighbors {

constexpr std::size_t most_terms = 10'000;  // of a query: more would leave too little of 16 bits to each

// A feature of the query that some row has.
struct Term {
    double most;  // it adds at most
    Id feature;
    Id dense;              // number of its dense list, -1: it has none
    std::uint16_t weight;  // of its codes, in 256ths of a unit
};

// What one thread searches in; all zero between calls where it says so.
struct Scratch {
    std::vector<std::uint16_t> sums;  // of each block, from lists that are not dense: zero
    std::vector<std::uint16_t> tops;  // a bound for each group
    std::vector<float> query;         // for each feature: zero
    std::vector<Id> written;          // features that are not zero in `query`
    std::vector<Term> terms;
    Wanted wanted;  // weights: zero
    std::vector<Term> dense;
    std::vector<std::uint32_t> groups, blocks, ordered;  // blocks: bound << 16 | number
    std::vector<Hit> hits;
    TopKHeap nearest;
    std::int64_t postings = 0, compared = 0;  // how much was looked at: codes of blocks, rows that were bounded
};

// The k rows of largest similarity above 0 go to scratch.nearest (their numbers among all rows as labels); of equal
// ones the smaller number. `exclude` is left out, -1: none.
void nearest(std::span<const Segment> segments, SparseRow query, std::size_t k, Id exclude, Scratch& scratch);

}  // namespace xtrellis::neighbors
