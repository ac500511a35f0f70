// The inner loops of search: sums of codes for the rows of a block, and which of them are large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/cpu.hpp"
#include "core/csr.hpp"

namespace xtrellis::neighbors {

// What a posting adds to a sum, rounded up.
inline std::uint32_t adds(std::uint32_t weight, std::uint32_t code) { return (weight * code + 255) >> 8; }

void add_long(std::uint16_t* sums, const std::uint16_t* postings, std::size_t n, std::uint32_t weight,
              std::uint32_t mask);
// As kept by bits: one for each of so many rows, then codes, which end where `postings` do. Within `all`, where no more
// may be read.
void add_bits(std::uint16_t* sums, std::span<const std::uint16_t> postings, std::span<const std::uint16_t> all,
              Id count, std::uint32_t weight, InstructionSet instructions = InstructionSet::avx512);
// Codes are there, and sums read and written, up to the end of the last stretch.
constexpr Id stretch = 64;
void add_dense(std::uint16_t* sums, const std::uint8_t* codes, Id count, std::uint16_t weight,
               InstructionSet instructions = InstructionSet::avx512);

// How many sums reach `least`, which is above 0. Those behind the last one, to the end of the last stretch, are 0.
std::size_t count_reaching(const std::uint16_t* sums, Id count, std::uint16_t least,
                           InstructionSet instructions = InstructionSet::avx512);
// The places of a block, which begins with `from`, whose sums reach `least` but not `below`. Sums are read, and `out`
// must have room, up to the end of the last stretch.
std::size_t reaching(const std::uint16_t* sums, Id count, std::uint32_t least, std::uint32_t below, std::uint32_t from,
                     std::uint32_t* out, InstructionSet instructions = InstructionSet::avx512);
// Moves those places to the front whose sums reach `bar` and, if `common` is given, sum + rest * common[place] >=
// least.
std::size_t kept(std::uint32_t* places, std::size_t n, const std::uint16_t* sums, const std::uint8_t* common,
                 std::uint32_t bar, float rest, float least);

// For each block: what a list adds at most, and the query's square if any row of the block has the feature.
void add_bounds(const std::uint8_t* codes, std::size_t n, float most, float square, float* mosts, float* squares);

}  // namespace xtrellis::neighbors
