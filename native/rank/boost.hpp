// Boosted symmetric trees: all nodes of a level ask the same question, so a tree is a few comparisons and one look-up.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/cpu.hpp"
#include "core/csr.hpp"
#include "rank/trees.hpp"

namespace xtrellis::rank {

// Sums of gradients and curvatures by node and bin, for inputs first .. last: what the best question is found from.
// Of n pairs, those at `places`. `bins` is n_inputs × n; `out` is n_inputs × n_nodes × n_bins × 2, cleared before.
inline void gather_sums(const std::uint8_t* bins, const std::uint8_t* nodes, const float* gradients,
                        const float* curvatures, Offset n, const Id* places, Offset n_places, Offset n_nodes,
                        Offset n_bins, Offset first, Offset last, double* out) {
    // Gradient and curvature are added as one. Several inputs at a time: most pairs of an input fall into few bins,
    // where each sum waits for the one before it. A bin's sums are added in the same order in any case.
    typedef double Both __attribute__((vector_size(16)));
    constexpr Offset together = 4;
    for (Offset j = first; j < last; j += together) {
        const Offset count = std::min(together, last - j);
        const std::uint8_t* columns[together];
        double* sums[together];
        for (Offset t = 0; t < count; ++t) {
            columns[t] = bins + (j + t) * n;
            sums[t] = out + (j + t) * n_nodes * n_bins * 2;
        }
        const auto add = [&](Offset inputs) {
            for (Offset k = 0; k < n_places; ++k) {
                const Id i = places[k];
                const Both pair{static_cast<double>(gradients[i]), static_cast<double>(curvatures[i])};
                const Offset node = static_cast<Offset>(nodes[i]) * n_bins;
                for (Offset t = 0; t < inputs; ++t) {
                    double* cell = sums[t] + (node + columns[t][i]) * 2;
                    Both sum;
                    __builtin_memcpy(&sum, cell, sizeof sum);
                    sum += pair;
                    __builtin_memcpy(cell, &sum, sizeof sum);
                }
            }
        };
        if (count == together) add(together);  // a number that the compiler knows
        else add(count);
    }
}

// Pairs that go through the trees together: block[j * lanes + i] is input j of pair i.
constexpr Offset lanes = 64;

// Adds to each pair's total what every tree says of it, tree after tree: the same bits by all instruction sets.
void add_trees(const SymmetricTrees& trees, const float* block, double* total,
               InstructionSet instructions = InstructionSet::avx512);

// Log-odds of pairs first .. last, given n × n_inputs numbers.
inline void log_odds(const SymmetricTrees& trees, double base, const float* inputs, Offset n_inputs, Offset first,
                     Offset last, float* out, InstructionSet instructions = InstructionSet::avx512) {
    std::vector<float> block(static_cast<std::size_t>(n_inputs * lanes));
    for (Offset begin = first; begin < last; begin += lanes) {
        const Offset n = std::min(lanes, last - begin);
        for (Offset lane = 0; lane < lanes; ++lane) {  // lanes behind the last pair repeat it
            const float* row = inputs + (begin + std::min(lane, n - 1)) * n_inputs;
            for (Offset j = 0; j < n_inputs; ++j) block[static_cast<std::size_t>(j * lanes + lane)] = row[j];
        }
        std::array<double, lanes> total;
        total.fill(base);
        add_trees(trees, block.data(), total.data(), instructions);
        for (Offset lane = 0; lane < n; ++lane)
            out[begin + lane] = static_cast<float>(total[static_cast<std::size_t>(lane)]);
    }
}

}  // namespace xtrellis::rank
