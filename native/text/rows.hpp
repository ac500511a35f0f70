// Counted features of one text -> one sparse tf-idf row. Used by both ways to a matrix, so that they agree bit by bit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/csr.hpp"
#include "text/settings.hpp"

namespace xtrellis::text {

// A feature (high half) and how often it occurs (low half): sorts by feature.
using Count = std::uint64_t;
inline Count count_of(std::uint32_t feature, std::uint32_t times) { return std::uint64_t{feature} << 32 | times; }

struct Rows {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
};

// Ascending order; radix passes for the long, std::sort for the short.
void sort_counts(std::vector<Count>& counts, std::vector<Count>& scratch);

// Appends one row. `counts` are sorted; neighbours with the same feature are added up.
void append_row(const std::vector<Count>& counts, const float* idf, const Settings& settings, Rows& rows);

// Sort `items` by the low `bits` bits of their `key`, stably, 11 bits a pass.
template <class T, class Key>
void radix_sort(std::vector<T>& items, std::vector<T>& scratch, unsigned bits, Key key) {
    constexpr unsigned digit = 11;
    scratch.resize(items.size());
    for (unsigned shift = 0; shift < bits; shift += digit) {
        std::size_t places[1u << digit] = {};
        for (const auto& item : items) ++places[(key(item) >> shift) & ((1u << digit) - 1)];
        std::size_t sum = 0;
        for (auto& place : places) {
            const auto here = place;
            place = sum;
            sum += here;
        }
        for (const auto& item : items) scratch[places[(key(item) >> shift) & ((1u << digit) - 1)]++] = item;
        items.swap(scratch);
    }
}

}  // namespace xtrellis::text
