// Scores as probabilities, by curves that were learned: one for each band of labels that are about as frequent.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/csr.hpp"

namespace xtrellis::rank {

// Curve i has the points [begins[i], begins[i + 1]): probabilities y at rising scores x, at least one.
struct Curves {
    const Offset* begins;
    const double* x;
    const double* y;
};

// A straight line between the two points around a score, as NumPy's interp draws it, to the bit.
inline double interpolated(const double* x, const double* y, Offset n, double score) {
    if (std::isnan(score)) return n == 1 ? y[0] : score;
    if (score < x[0]) return y[0];
    const Offset after = std::upper_bound(x, x + n, score) - x;
    const Offset at = after - 1;
    if (after == n || x[at] == score) return y[at];
    return (y[after] - y[at]) / (x[after] - x[at]) * (score - x[at]) + y[at];
}

// Band b begins with labels of bands[b - 1] rows. No label (-1): 0.
inline void probabilities(const Curves& curves, const Offset* bands, Offset n_bands, const Offset* frequency,
                          Offset n_labels, const Id* labels, const double* scores, Offset n, float* out) {
    for (Offset i = 0; i < n; ++i) {
        if (labels[i] < 0) {
            out[i] = 0;
            continue;
        }
        if (labels[i] >= n_labels) throw std::out_of_range("a label that there is not");
        const Offset band = std::upper_bound(bands, bands + n_bands, frequency[labels[i]]) - bands;
        const Offset first = curves.begins[band];
        const double p = interpolated(curves.x + first, curves.y + first, curves.begins[band + 1] - first, scores[i]);
        out[i] = static_cast<float>(p < 0 ? 0.0 : p > 1 ? 1.0 : p);
    }
}

}  // namespace xtrellis::rank
