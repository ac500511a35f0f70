// Counted features of one text -> one sparse tf-idf row. Used by both ways to a matrix, so that they agree bit by bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/csr.hpp"
#include "core/roomy.hpp"
#include "text/settings.hpp"

namespace xtrellis::text {

// A feature (high half) and how often it occurs (low half): sorts by feature.
using Count = std::uint64_t;
inline Count count_of(std::uint32_t feature, std::uint32_t times) { return std::uint64_t{feature} << 32 | times; }

struct Rows {
    std::vector<Offset> offsets{0};
    Roomy<Id> ids;
    Roomy<float> values;
};

// By feature; radix passes for the long, std::sort for the short.
void sort_counts(std::vector<Count>& counts, std::vector<Count>& scratch);

// Appends one row. `counts` are sorted; neighbours with the same feature are added up.
void append_row(const std::vector<Count>& counts, const float* idf, const Settings& settings, Rows& rows);

// Sort `items` by the low `bits` bits of their `key`, stably, `Digit` bits a pass.
template <unsigned Digit, class Items, class Key>
void radix_sort(Items& items, Items& scratch, unsigned bits, Key key) {
    constexpr std::size_t radix = std::size_t{1} << Digit;
    if (scratch.size() < items.size()) scratch.resize(items.size());
    auto *from = items.data(), *to = scratch.data();
    const auto n = items.size();
    for (unsigned shift = 0; shift < bits; shift += Digit) {
        std::uint32_t places[radix] = {};
        for (std::size_t i = 0; i < n; ++i) ++places[(key(from[i]) >> shift) & (radix - 1)];
        std::uint32_t sum = 0;
        for (auto& place : places) {
            const auto here = place;
            place = sum;
            sum += here;
        }
        for (std::size_t i = 0; i < n; ++i) to[places[(key(from[i]) >> shift) & (radix - 1)]++] = from[i];
        std::swap(from, to);
    }
    if (from != items.data()) std::copy(from, from + n, items.data());
}

}  // namespace xtrellis::text
