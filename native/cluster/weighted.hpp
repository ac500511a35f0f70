// One split of an interpolated label tree: between 2-means by similarity and Fano's code by frequency.
//
// Baharav et al. 2021, "Enabling Efficiency-Precision Trade-offs for Label Trees in Extreme Classification", eq. (4):
//
//     max  Σ_l a f_l ½[(1+α_l) v_l·μ₊ + (1-α_l) v_l·μ₋] + b α_l f_l²     over unit μ±, α ∈ [-1,1]ⁿ with Σ α_l f_l = 0
//
// f: weights of the members, summing to 1; a, b: what similarity and the code count (2-λ and (λ-1)₊ in the paper).
// Alternates between the centres μ± ∝ Σ f_l (1±α_l) v_l and Lemma 1: with β_l/f_l = a/2 v_l·(μ₊-μ₋) + b f_l, take
// α = +1 in descending order until half of the weight is used; the member at the border is shared between the sides.
// That is a weighted median, found by selection in O(n) instead of a sort. The border member stays fractional while the
// loop runs, so that the objective never falls, and is rounded at the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "cluster/balanced.hpp"

namespace xtrellis::cluster {

struct Tradeoff {
    double similarity;  // a
    double code;        // b
};

struct WeightedSplit {
    std::size_t left = 0;  // members on the + side
    double objective = 0;  // before rounding
    Id border = -1;        // the member that is shared, and its α before rounding
    double alpha = 0;
};

// Reorders `order` so that [0, at) is the + side; `order[at]` is the border, of which `share` belongs to it.
struct Border {
    std::size_t at;
    double share;
};

inline Border weighted_half(std::span<std::uint32_t> order, const std::vector<double>& ratios,
                            const std::vector<double>& weights, double half) {
    const auto first = [&](std::uint32_t i, std::uint32_t j) {
        return ratios[i] > ratios[j] || (ratios[i] == ratios[j] && i < j);
    };
    std::size_t low = 0, high = order.size();
    double before = 0;
    while (high - low > 1) {  // the weight up to `low` is below half, that up to `high` is not
        const std::size_t middle = low + (high - low) / 2;
        const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
        std::nth_element(at(low), at(middle), at(high), first);
        double sum = 0;
        for (std::size_t i = low; i < middle; ++i) sum += weights[order[i]];
        if (before + sum >= half) {
            high = middle;
        } else {
            before += sum;
            low = middle;
        }
    }
    const double weight = weights[order[low]];
    return {low, weight > 0 ? std::clamp((half - before) / weight, 0.0, 1.0) : 1.0};
}

// `weights` has an entry for each row of `vectors`; those of the members sum to 1. Reorders `members`: first the +
// side, then the other, ids ascending within each; neither is empty if there are two members. Without similarity the
// vectors are not looked at.
inline WeightedSplit split_weighted(const Csr& vectors, std::span<Id> members, std::span<const double> weights,
                                    Tradeoff tradeoff, SplitSettings settings, std::uint64_t key, ColumnMap& scratch) {
    const std::size_t n = members.size();
    if (n < 2) return {n, 0, -1, 0};
    if (!std::is_sorted(members.begin(), members.end())) std::sort(members.begin(), members.end());
    const bool looks = tradeoff.similarity > 0;
    const auto scale = static_cast<double>(n);  // weights of mean 1: sums of floats keep their precision

    std::vector<double> weight(n), ratios(n);
    for (std::size_t i = 0; i < n; ++i) weight[i] = weights[static_cast<std::size_t>(members[i])] * scale;
    const double half = std::accumulate(weight.begin(), weight.end(), 0.0) / 2;

    Compact v;
    std::vector<float> direction;
    std::vector<double> plus, all;
    if (looks) {
        v = compact(vectors, members, scratch);
        const auto width = static_cast<std::size_t>(v.width());
        direction = start_direction(v, n, key);
        plus.assign(width, 0.0);
        all.assign(width, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            const SparseRow x = v[i];
            for (std::size_t j = 0; j < x.size(); ++j) all[x.ids[j]] += weight[i] * x.values[j];
        }
    }
    std::vector<std::uint32_t> order(n);
    std::vector<double> share(n, 0.0);  // (1 + α) / 2
    WeightedSplit out;
    Border border{0, 1};
    double best = -1e300;
    for (int iteration = 0; iteration < settings.iterations; ++iteration) {
        for (std::size_t i = 0; i < n; ++i) {
            order[i] = static_cast<std::uint32_t>(i);
            ratios[i] = tradeoff.code * weight[i] / scale;
            if (looks) ratios[i] += tradeoff.similarity / 2 * dot(v[i], direction.data());
        }
        border = weighted_half(order, ratios, weight, half);
        double code = 0;
        for (std::size_t at = 0; at < n; ++at) {
            const std::uint32_t i = order[at];
            const double now = at < border.at ? 1.0 : at == border.at ? border.share : 0.0;
            code += (2 * now - 1) * weight[i] * weight[i];
            const double change = (now - share[i]) * weight[i];
            share[i] = now;
            if (change == 0 || !looks) continue;
            const SparseRow x = v[i];
            for (std::size_t j = 0; j < x.size(); ++j) plus[x.ids[j]] += change * x.values[j];
        }
        double plus_square = 0, minus_square = 0;
        for (std::size_t f = 0; f < plus.size(); ++f) {
            const double p = plus[f], m = all[f] - plus[f];
            plus_square += p * p;
            minus_square += m * m;
        }
        // With unit centres Σ f ½[(1+α) v·μ₊ + …] is the length of both sides' sums.
        const double plus_length = std::sqrt(plus_square), minus_length = std::sqrt(minus_square);
        const double objective = tradeoff.similarity * (plus_length + minus_length) + tradeoff.code * code / scale;
        out.border = members[order[border.at]];
        out.alpha = 2 * border.share - 1;
        const bool done = objective - best < settings.tolerance * tradeoff.similarity * scale;
        best = std::max(best, objective);
        if (done || !looks) break;
        const double p = plus_length > 0 ? 1 / plus_length : 0, m = minus_length > 0 ? 1 / minus_length : 0;
        for (std::size_t f = 0; f < plus.size(); ++f) {
            direction[f] = static_cast<float>(plus[f] * p - (all[f] - plus[f]) * m);
        }
    }
    out.objective = best / scale;
    // The nearer side takes the border member (of equals +, as balanced halves have it); nobody is left alone.
    const bool to_plus = border.at == 0 || (border.share >= 0.5 - 1e-9 && border.at + 1 < n);
    share[order[border.at]] = to_plus ? 1 : 0;
    out.left = border.at + (to_plus ? 1 : 0);
    std::vector<Id> sorted(n);
    std::size_t front = 0, back = out.left;
    for (std::size_t i = 0; i < n; ++i) sorted[share[i] > 0 ? front++ : back++] = members[i];
    std::copy(sorted.begin(), sorted.end(), members.begin());
    return out;
}

}  // namespace xtrellis::cluster
