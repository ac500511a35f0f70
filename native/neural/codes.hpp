// Approximate search for large inner products: every label's vector is also kept as 2 bits a dimension; all of those
// codes are looked through, and only the labels that they promise most are compared exactly.
//
// A byte holds the codes of 4 dimensions, so a query's share of a product for 2 dimensions is one of 16 numbers, chosen
// by half a byte: a lookup that vector instructions do for 32 or 64 labels at once (product quantisation: Jégou et al.
// 2011; tables in registers: André et al. 2015). The sums are of integers: the same by all instruction sets.
#pragma once

#include <cstdint>

#include "core/cpu.hpp"
#include "core/csr.hpp"

namespace xtrellis::neural {

constexpr Offset block_labels = 64;

struct Codes {
    // blocks × bytes × 64: byte b of the 64 labels of a block lie side by side, those of labels i and 32 + i at 2i and
    // 2i + 1.
    const std::uint8_t* blocks;
    Offset bytes;         // of a label: even, and at least dim / 4; what is beyond dim counts nothing
    const float* levels;  // dim × 4: what the codes 0 .. 3 of a dimension stand for
};

// For the 64 labels of each block: the sum of table[2b][low half of byte b] + table[2b + 1][high half]. The table has
// 16 entries a half-byte, none above 63; the sums must fit 16 bits.
void sum_codes(const std::uint8_t* blocks, Offset count, Offset bytes, const std::uint8_t* table, std::uint16_t* out,
               InstructionSet instructions = InstructionSet::avx512);

// The k best of the `keep` labels whose codes promise most, by their exact products; -1 pads. Cost: labels · dim / 4
// bytes read, and `keep` products.
void scan(const Codes& codes, const float* queries, Offset n, const float* vectors, Offset labels, Offset dim,
          Offset keep, Offset k, Id* found, float* scores);

}  // namespace xtrellis::neural
