// The most similar training rows of a query, exactly.
//
// Lists are taken in the order of their lengths, the short ones (of the rare features, which weigh most) first. What
// they add up to for a row bounds that part of its similarity from above. What the other lists can add is bounded by
// their largest values, and by Cauchy and Schwarz:
//
//     q·x <= a + |q'| sqrt(|x|^2 - (a / |q - q'|)^2)      a: of the lists taken; q': the query's part in the others
//
// and |q'| |x'| where x' is the part of the row that common features make up. The best rows of the first lists are
// compared exactly. The worst of these answers says which lists no answer can live on alone (they are left out, as in
// MaxScore), which blocks of rows need no look (as in block-max search, the most promising block first), and which
// rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/topk.hpp"
#include "neighbors/segment.hpp"

namespace xtrellis::neighbors {

enum class Kind : std::uint8_t { few, many, most };  // short, long and dense lists

// A feature of the query that some row has.
struct Term {
    double value;  // the query's
    double most;   // it adds at most
    Id feature;
    Id list;  // number among the lists of its kind
    Kind kind;
    std::uint32_t length;  // postings
    std::uint32_t weight;  // in 256ths of a unit of the sums, for each level of the codes
};

// Terms in the order in which their lists are taken, and what is left from each of them on.
struct Plan {
    std::vector<Term> terms;
    std::vector<double> rest_squares, rest_most;
    double before = 0;  // squares of terms whose lists were taken before

    void sum_up() {
        rest_squares.assign(terms.size() + 1, 0.0);
        rest_most.assign(terms.size() + 1, 0.0);
        for (std::size_t i = terms.size(); i-- > 0;) {
            rest_squares[i] = rest_squares[i + 1] + terms[i].value * terms[i].value;
            rest_most[i] = rest_most[i + 1] + terms[i].most;
        }
    }
};

// What one thread searches in; all zero between calls where it says so.
struct Scratch {
    std::vector<std::uint16_t> sums;  // a bound for each place: zero
    std::vector<float> query;         // for each feature: zero
    std::vector<Id> written;          // features that are not zero in `query`
    std::vector<std::uint64_t> seen;  // a bit for each place, of those compared at first: zero
    std::vector<std::uint32_t> touched, candidates, seeds;
    Plan plan, here;  // of all rows, of a block
    std::vector<std::uint16_t> block_sum;
    std::vector<float> block_most, block_squares;
    std::vector<Scored> blocks;
    TopKHeap nearest;
    std::int64_t postings = 0, compared = 0;  // how much was looked at
};

// The k rows of largest similarity above 0 go to scratch.nearest (their numbers among all rows as labels); of equal
// ones the smaller number. `exclude` is left out, -1: none.
void nearest(std::span<const Segment> segments, SparseRow query, std::size_t k, Id exclude, Scratch& scratch);

}  // namespace xtrellis::neighbors
