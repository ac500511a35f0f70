// One pass over a sparse matrix: is it what kernels trust? Sorted, without repeats, inside its columns, finite. And are
// its rows of unit length?
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis {

enum class Plain { no, yes, unit };

// Rows whose squares add up to 1 within this are of unit length: they stay as they are, to the bit.
constexpr double unit_slack = 1e-5;

// In double, and always in this order: one row alone is scaled like the same row among others.
inline double sum_of_squares(const float* begin, const float* end) {
    double sums[4] = {};
    const float* p = begin;
    for (; p + 4 <= end; p += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += static_cast<double>(p[lane]) * p[lane];
    for (std::size_t lane = 0; p < end; ++p, ++lane) sums[lane] += static_cast<double>(*p) * *p;
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// What a row is multiplied by to be of unit length; rows of zeros stay.
inline double unit_scale(const float* begin, const float* end) {
    const double squares = sum_of_squares(begin, end);
    return squares == 0 || std::abs(squares - 1) <= unit_slack ? 1 : 1 / std::sqrt(squares);
}

template <class Index>
Plain plain_rows(const Index* offsets, std::size_t rows, const Id* ids, std::size_t n_ids, const float* values,
                 std::size_t n_values, Offset columns, float largest) {
    if (offsets[0] != 0) return Plain::no;
    bool unit = true;
    for (std::size_t r = 0; r < rows; ++r) {
        const Index begin = offsets[r], end = offsets[r + 1];
        if (end < begin || static_cast<std::size_t>(end) > n_ids || static_cast<std::size_t>(end) > n_values)
            return Plain::no;
        Id last = -1;
        for (Index i = begin; i < end; ++i) {
            if (ids[i] <= last || !(std::abs(values[i]) <= largest)) return Plain::no;
            last = ids[i];
        }
        if (last >= columns) return Plain::no;
        unit = unit && unit_scale(values + begin, values + end) == 1;
    }
    return unit ? Plain::unit : Plain::yes;
}

// `out` gets the values of the same rows at unit length. True if that changed any.
inline bool unit_rows(const Offset* offsets, std::size_t rows, const float* values, float* out) {
    bool changed = false;
    for (std::size_t r = 0; r < rows; ++r) {
        const auto scale = unit_scale(values + offsets[r], values + offsets[r + 1]);
        changed = changed || scale != 1;
        for (auto i = offsets[r]; i < offsets[r + 1]; ++i)
            out[i] = scale == 1 ? values[i] : static_cast<float>(values[i] * scale);
    }
    return changed;
}

}  // namespace xtrellis
