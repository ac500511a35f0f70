// A few inner products at once, each added up in the one order that all of this room uses.
#pragma once

#include <algorithm>

#include "core/csr.hpp"
#include "core/dispatch.hpp"
#include "core/lanes.hpp"

namespace xtrellis::neural {

using Vector = Lanes<16>;
using Floats = Vector::Floats;

XTRELLIS_INLINE float total(Floats v) {
    float half[8], quarter[4];
    for (int i = 0; i < 8; ++i) half[i] = v[i] + v[i + 8];
    for (int i = 0; i < 4; ++i) quarter[i] = half[i] + half[i + 4];
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

// R rows against C labels. Each product has a vector of sums of its own, so R and C do not change its bits.
template <int R, int C>
XTRELLIS_INLINE void tile(const float* a, const float* b, Offset dim, float out[R][C]) {
    Floats sums[R][C] = {};
    Offset j = 0;
    for (; j + 16 <= dim; j += 16) {
        Floats right[C];
        for (int c = 0; c < C; ++c) right[c] = Vector::load(b + c * dim + j);
        for (int r = 0; r < R; ++r) {
            const Floats left = Vector::load(a + r * dim + j);
            for (int c = 0; c < C; ++c) sums[r][c] += left * right[c];
        }
    }
    if (j < dim) {  // the last few, with zeros behind them
        const auto rest = [&](const float* from) {
            float padded[16] = {};
            std::copy(from + j, from + dim, padded);
            return Vector::load(padded);
        };
        for (int r = 0; r < R; ++r) {
            const Floats left = rest(a + r * dim);
            for (int c = 0; c < C; ++c) sums[r][c] += left * rest(b + c * dim);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) out[r][c] = total(sums[r][c]);
    }
}

XTRELLIS_INLINE float dot(const float* a, const float* b, Offset dim) {
    float out[1][1];
    tile<1, 1>(a, b, dim, out);
    return out[0][0];
}

}  // namespace xtrellis::neural
