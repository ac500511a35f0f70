// A segment's arrays from rows of features.
#pragma once

#include <cstdint>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis::neighbors {

struct Built {
    std::vector<float> values;
    std::vector<std::uint16_t> gaps;
    int group_shift = 0;
    std::vector<std::uint32_t> group_begin;
    std::vector<std::uint16_t> row_offset;
    std::vector<std::uint8_t> common, ceilings;
    std::vector<std::uint32_t> short_begin;
    std::vector<std::uint8_t> short_postings;
    std::vector<Id> long_ids;
    std::vector<std::uint32_t> long_begin;
    std::vector<std::uint8_t> long_max, long_form;
    std::vector<std::uint16_t> long_postings;
    std::vector<Id> dense_ids;
    std::vector<std::uint8_t> dense_codes, dense_max;
    double norm = 0;
    bool negative = false;
};

// Rows from `first` to `last`; as many as `fitting` says at most.
Built build(const Csr& rows, Offset first, Offset last);
// How many of the rows from `first` on one segment can hold.
Offset fitting(const Csr& rows, Offset first);

}  // namespace xtrellis::neighbors
