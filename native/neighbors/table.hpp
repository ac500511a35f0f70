// Training rows laid out for many queries: a bound for every row instead of every block, then the few rows that reach
// far enough are compared. It is made for a call and dropped after it: as large as the rows once more, and quick to
// make.
//
// A tile is as many rows as 16 bits tell apart. Each feature has a list of a tile's rows that have it, or, if these are
// many, a code for every row. Codes are shares of the feature's largest value, rounded up, as in a segment. Codes for
// every row lie by groups of 64 rows, so that what a query reads of a group is near each other, and its sums stay in
// registers while they are added up.
#pragma once

#include <cstdint>
#include <vector>

#include "core/csr.hpp"
#include "neighbors/search.hpp"

namespace xtrellis::neighbors {

constexpr Offset tile_rows = Offset{1} << 16;

struct Tile {
    Offset first = 0;
    std::size_t rows = 0, dense = 0;    // `dense`: features with a code for every row
    std::vector<std::uint32_t> begins;  // of each feature's list, and the end
    std::vector<Id> numbers;            // of each feature among the dense ones, -1: it has a list
    std::vector<std::uint16_t> places;
    std::vector<std::uint8_t> list_codes, codes;  // `codes`: groups × dense × 64

    // Up to a multiple of `stretch`.
    std::size_t groups() const { return (rows + stretch * lane_rows - 1) / (stretch * lane_rows) * stretch; }
};

// Rows without values below 0. The arrays of `rows` must outlive it.
struct Table {
    explicit Table(Csr rows);

    Csr rows;
    std::vector<float> ceilings;  // the largest value of each feature
    std::vector<Tile> tiles;
};

struct TableScratch {
    std::vector<std::uint16_t> sums, tops;  // of each row of a tile: zero; the largest of each group
    std::vector<float> query;               // for each feature: zero
    std::vector<Term> terms;
    std::vector<Weighed> dense;        // terms with a code for every row
    std::vector<std::uint32_t> found;  // rows to compare
};

// As `nearest` of segments, to the same bits. Queries of more than `most_terms` features are not for it.
void nearest(const Table& table, SparseRow query, std::size_t k, Id exclude, TableScratch& own, Scratch& scratch);

}  // namespace xtrellis::neighbors
