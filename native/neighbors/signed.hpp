// Training rows with values below 0, such as dense vectors, perhaps beside sparse features: lists of codes bound
// nothing then. The features that most rows have lie as a matrix, the others as lists of rows. Products of a query with
// all rows are added up in float; the rows that come as near as float can tell to the best k are compared exactly.
//
// Several queries share a walk over the matrix, which is larger than caches. It is made for as many queries as are
// worth it, and is as large as the rows once more.
#pragma once

#include <vector>

#include "core/csr.hpp"
#include "neighbors/search.hpp"

namespace xtrellis::neighbors {

constexpr std::size_t lanes = 16;      // rows of the matrix end with a multiple of so many values
constexpr Offset walked_together = 8;  // queries

// The arrays of `rows` must outlive it.
struct Signed {
    explicit Signed(Csr rows);

    Csr rows;
    double longest = 0;          // of the rows' lengths
    std::size_t width = 0;       // of the matrix, padded
    std::vector<Id> columns;     // of each feature: its column of the matrix, -1: it has a list
    std::vector<float> matrix;   // rows × width
    std::vector<Offset> begins;  // of each feature's list, and the end
    std::vector<Id> places;      // the rows of each list
    std::vector<float> values;
};

struct SignedScratch {
    Offset first = 0, last = 0;   // the queries whose products with the matrix are here; last = 0: none
    std::vector<float> queries;   // queries × width
    std::vector<float> products;  // queries × rows
    std::vector<float> sums;
    std::vector<float> query;  // for each feature: zero between calls
    TopKHeap best;
};

// Products with the matrix of query r and some that follow, up to `last`, if they are not there yet; r rises.
void walk(const Signed& self, const Csr& X, Offset r, Offset last, SignedScratch& own);

// As `nearest` of segments, to the same bits; the query is number r. False, and nothing done, if float may not hold the
// sums.
bool nearest(const Signed& self, SparseRow query, Offset r, std::size_t k, Id exclude, SignedScratch& own,
             Scratch& scratch);

}  // namespace xtrellis::neighbors
