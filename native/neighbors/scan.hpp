// The inner loops of search: bounds of blocks, which of them are large, and bounds of the rows of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/cpu.hpp"
#include "core/csr.hpp"
#include "neighbors/segment.hpp"

namespace xtrellis::neighbors {

// What a code adds to a sum: not less than its share of the weight, which is in 256ths.
inline std::uint16_t adds(std::uint16_t weight, std::uint8_t code) {
    return static_cast<std::uint16_t>((std::uint32_t{weight} * code >> 8) + (code != 0));
}

// To each of `count` sums, a multiple of 16, what its code adds.
void add_dense(std::uint16_t* sums, const std::uint8_t* codes, std::size_t count, std::uint16_t weight);
// To n of `count_all` sums, those of `blocks`, what their codes add.
void add_list(std::uint16_t* sums, const std::uint16_t* blocks, const std::uint8_t* codes, std::size_t n,
              std::uint16_t weight, std::size_t count_all);
// To each of `count` sums the largest of 8 others.
void add_largest(std::uint16_t* sums, const std::uint16_t* others, std::size_t count);

constexpr std::size_t lane_rows = 64;  // rows of a group that has a code for each of them
// A feature of a query and its weight.
struct Weighed {
    std::uint16_t number, weight;
};
// Which of 64 sums reach `least`, a bit for each.
std::uint64_t rows_reaching(const std::uint16_t* sums, std::uint16_t least,
                            InstructionSet instructions = InstructionSet::avx512);
// Completes the sums of the 64 rows of a group, and returns the largest: `codes` are features × 64. What rounding takes
// away is 1 for each term at most, and is given back.
std::uint16_t add_group(std::uint16_t* sums, const std::uint8_t* codes, const Weighed* terms, std::size_t n_terms,
                        InstructionSet instructions = InstructionSet::avx512);

// How many of `count` sums, a multiple of `stretch`, reach `least`, which is above 0.
std::size_t count_reaching(const std::uint16_t* sums, std::size_t count, std::uint16_t least);
// Those that reach `least` but not `below`; returns how many. `out` has room for all.
std::size_t reaching(const std::uint16_t* sums, std::size_t count, std::uint32_t least, std::uint32_t below,
                     std::uint32_t* out);

// The query's features by their low 16 bits, which are keys. Where two of them have the same, or an entry of a block
// has that of another feature, bounds are larger than they need be.
struct Wanted {
    // Keys are told from others by their four hexadecimal digits: a byte for each digit there can be at each place,
    // with a bit for each of eight classes of keys. A key is of a class if it has its bit at all four places; a class
    // has few keys, so few others pass.
    struct Sieve {
        std::uint8_t digits[4][16];
    };
    std::vector<std::uint16_t> keys;  // each once
    std::vector<float> weights;       // for each key there can be: 0 if it is not wanted
    std::vector<Sieve> sieves;

    void make_sieves();  // for `keys`, which are put in order
};

// An entry of a block whose key is wanted, and the first of its values.
struct Hit {
    std::uint32_t entry, value;
};

// The entries of a block whose keys are wanted, in ascending order, and for each row the sum of weights times bounds of
// values, in float; returns how many. `hits` has room for all entries of the block. `behind`: bytes of the segment that
// follow the upper halves.
std::size_t bound_rows(const Block& block, const Wanted& wanted, std::size_t behind, Hit* hits, float* sums,
                       InstructionSet instructions = InstructionSet::avx512);

// The similarities of some rows of a block (a bit for each), given its hits: products in double, added in the order of
// the features, so that they are the same wherever a row lies.
void products(const Block& block, const Hit* hits, std::size_t n_hits, std::uint32_t rows, const float* query,
              Id features, double* sums);

}  // namespace xtrellis::neighbors
