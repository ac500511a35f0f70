// One pass over a sparse matrix: is it what kernels trust? Sorted, without repeats, inside its columns, finite.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis {

template <class Index>
bool plain_rows(const Index* offsets, std::size_t rows, const Id* ids, std::size_t n_ids, const float* values,
                std::size_t n_values, Offset columns) {
    if (offsets[0] != 0) return false;
    for (std::size_t r = 0; r < rows; ++r) {
        const Index begin = offsets[r], end = offsets[r + 1];
        if (end < begin || static_cast<std::size_t>(end) > n_ids || static_cast<std::size_t>(end) > n_values)
            return false;
        Id last = -1;
        for (Index i = begin; i < end; ++i) {
            if (ids[i] <= last || !std::isfinite(values[i])) return false;
            last = ids[i];
        }
        if (last >= columns) return false;
    }
    return true;
}

}  // namespace xtrellis
