// What growing a boosted symmetric tree asks of the sums of `gather_sums`: the best question of every input.
#pragma once

#include <array>
#include <cstdint>

#include "core/csr.hpp"

namespace xtrellis::rank {

struct Rules {
    const std::int32_t* monotone;  // of each input: 1, 0 or -1
    double l2;                     // curvature that is added to every leaf's
    double least;                  // curvature of a side that a node may have
};

// For inputs first .. last, of the n_edges[j] ways to split input j at a bin the one that explains most over all nodes
// of a level together: where it splits, what it gains (0: none does), and the sums of both sides of every node.
// `sums` is n_inputs × n_nodes × n_bins × 2 (gradient, curvature); `sides` n_inputs × n_nodes × 2 × 2.
inline void questions(const double* sums, const std::int32_t* n_edges, const Rules& rules, Offset n_nodes,
                      Offset n_bins, Offset first, Offset last, double* gains, std::int32_t* at, double* sides) {
    constexpr Offset most_bins = 256;  // a bin is one byte
    const auto worth = [&](double gradient, double curvature) { return gradient * gradient / (curvature + rules.l2); };
    for (Offset j = first; j < last; ++j) {
        std::array<double, most_bins> total{};
        const double* own = sums + j * n_nodes * n_bins * 2;
        for (Offset node = 0; node < n_nodes; ++node) {
            const double* cell = own + node * n_bins * 2;
            double g = 0, h = 0;  // of the whole node
            for (Offset b = 0; b < n_bins; ++b) g += cell[2 * b], h += cell[2 * b + 1];
            if (h < 2 * rules.least) continue;  // neither side could be enough
            const double whole = worth(g, h);
            double g_below = 0, h_below = 0;
            for (Offset b = 0; b < n_edges[j]; ++b) {
                g_below += cell[2 * b], h_below += cell[2 * b + 1];
                const double g_above = g - g_below, h_above = h - h_below;
                const double rise = g_above / (h_above + rules.l2) - g_below / (h_below + rules.l2);
                const bool wrong = rise * rules.monotone[j] < 0;
                if (wrong || h_below < rules.least || h_above < rules.least) continue;
                total[static_cast<std::size_t>(b)] += worth(g_below, h_below) + worth(g_above, h_above) - whole;
            }
        }
        double most = 0;
        std::int32_t where = 0;
        for (std::int32_t b = 0; b < n_edges[j]; ++b) {
            if (total[static_cast<std::size_t>(b)] > most) most = total[static_cast<std::size_t>(b)], where = b;
        }
        gains[j] = most, at[j] = where;
        for (Offset node = 0; node < n_nodes; ++node) {
            const double* cell = own + node * n_bins * 2;
            double* out = sides + (j * n_nodes + node) * 4;
            for (Offset b = 0; b < n_bins; ++b) {
                double* side = out + (b > where ? 2 : 0);
                side[0] += cell[2 * b], side[1] += cell[2 * b + 1];
            }
        }
    }
}

}  // namespace xtrellis::rank
