// A segment's arrays from rows of features.
#pragma once

#include <cstdint>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis::neighbors {

struct Built {
    std::vector<std::uint32_t> begins;
    std::vector<std::uint8_t> bytes, ceilings;
    std::vector<std::uint32_t> list_begin;
    std::vector<std::uint16_t> list_blocks;
    std::vector<std::uint8_t> list_codes;
    std::vector<Id> dense_ids;
    std::vector<std::uint8_t> dense_codes, dense_tops;
    double norm = 0;
    bool negative = false;
};

// Rows from `first` to `last`; as many as `fitting` says at most.
Built build(const Csr& rows, Offset first, Offset last);
// How many of the rows from `first` on one segment can hold.
Offset fitting(const Csr& rows, Offset first);

}  // namespace xtrellis::neighbors
