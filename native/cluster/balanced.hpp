// Balanced spherical 2-means: cut a set of unit vectors into two halves that point in different directions.
//
// Alternates: scores v·(μ₊ − μ₋) → the better half goes to the + side (selection, not a sort) → unit centres of both
// sides. The objective Σ₊ v·μ₊ + Σ₋ v·μ₋ never falls; the loop ends when it no longer rises.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/compact.hpp"
#include "core/rng.hpp"

namespace xtrellis::cluster {

struct SplitSettings {
    int iterations = 20;
    float tolerance = 1e-4f;  // mean gain in similarity below which the loop ends
};

inline float dot(const SparseRow& x, const float* dense) {
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x.values[i] * dense[x.ids[i]];
    return sum;
}

// From one member to another, drawn by `key` (n ≥ 2): the first guess at μ₊ − μ₋.
inline std::vector<float> start_direction(const Compact& v, std::size_t n, std::uint64_t key) {
    std::vector<float> direction(static_cast<std::size_t>(v.width()), 0.0f);
    Rng rng(key);
    const std::size_t a = rng.below(static_cast<std::uint32_t>(n));
    std::size_t b = rng.below(static_cast<std::uint32_t>(n) - 1);
    if (b >= a) ++b;
    for (std::size_t j = 0; j < v[a].size(); ++j) direction[v[a].ids[j]] += v[a].values[j];
    for (std::size_t j = 0; j < v[b].size(); ++j) direction[v[b].ids[j]] -= v[b].values[j];
    return direction;
}

// Reorders `members` (rows of `vectors`) so that the first ⌈n/2⌉ are one side; within a side the ids ascend.
// Returns the objective.
inline double split_balanced(const Csr& vectors, std::span<Id> members, SplitSettings settings, std::uint64_t key,
                             ColumnMap& scratch) {
    const std::size_t n = members.size(), half = (n + 1) / 2;
    if (n < 2) return 0;
    if (!std::is_sorted(members.begin(), members.end())) std::sort(members.begin(), members.end());
    const Compact v = compact(vectors, members, scratch);
    const auto width = static_cast<std::size_t>(v.width());

    std::vector<float> direction = start_direction(v, n, key), plus(width, 0.0f), all(width, 0.0f);
    Walk walk(v);
    for (std::size_t i = 0; i < n; ++i) {
        const SparseRow x = v[i];
        for (std::size_t j = 0; j < x.size(); ++j) all[x.ids[j]] += x.values[j];
        walk.passed(x.size());
    }

    std::vector<float> scores(n);
    std::vector<std::uint32_t> order(n);
    std::vector<char> side(n, 0);
    double best = -1;
    for (int iteration = 0; iteration < settings.iterations; ++iteration) {
        for (std::size_t i = 0; i < n; ++i) {
            scores[i] = dot(v[i], direction.data());
            order[i] = static_cast<std::uint32_t>(i);
            walk.passed(v[i].size());
        }
        std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(half), order.end(),
                         [&](std::uint32_t i, std::uint32_t j) {
                             return scores[i] > scores[j] || (scores[i] == scores[j] && i < j);
                         });
        // Only members that change sides move the + sum; the − sum is the rest.
        for (std::size_t at = 0; at < n; ++at) {
            const std::uint32_t i = order[at];
            const char now = at < half;
            if (now == side[i]) continue;
            side[i] = now;
            const float sign = now ? 1.0f : -1.0f;
            const SparseRow x = v[i];
            for (std::size_t j = 0; j < x.size(); ++j) plus[x.ids[j]] += sign * x.values[j];
            walk.passed(x.size());
        }
        double plus_square = 0, minus_square = 0;
        for (std::size_t f = 0; f < width; ++f) {
            const double p = plus[f], m = all[f] - plus[f];
            plus_square += p * p;
            minus_square += m * m;
        }
        // With unit centres the objective is |Σ₊ v| + |Σ₋ v|.
        const double objective = std::sqrt(plus_square) + std::sqrt(minus_square);
        if (objective - best < settings.tolerance * static_cast<double>(n)) {
            best = std::max(best, objective);
            break;
        }
        best = objective;
        const auto plus_scale = static_cast<float>(plus_square > 0 ? 1 / std::sqrt(plus_square) : 0);
        const auto minus_scale = static_cast<float>(minus_square > 0 ? 1 / std::sqrt(minus_square) : 0);
        for (std::size_t f = 0; f < width; ++f) direction[f] = plus[f] * plus_scale - (all[f] - plus[f]) * minus_scale;
    }
    std::vector<Id> sorted(n);
    std::size_t front = 0, back = half;
    for (std::size_t i = 0; i < n; ++i) sorted[side[i] ? front++ : back++] = members[i];
    std::copy(sorted.begin(), sorted.end(), members.begin());
    return best;
}

}  // namespace xtrellis::cluster
