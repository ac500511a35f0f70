// One pass of logistic regression on piecewise linear functions: the loss of some matches, its gradient and curvature
// by the functions' values at their knots (and the constant, which comes last).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace xtrellis::names {

struct Functions {
    std::size_t count;         // of features, each with a function
    std::size_t knots;         // room for each
    const double* at;          // count × knots, rising as far as they are used
    const double* values;      // the same
    const std::int32_t* used;  // at least 1
    double bias;
};

// `gradient` has count × knots + 1 entries, `curvature` is square; both are added to. Returns the loss.
inline double add_slopes(const Functions& functions, const float* features, const std::uint8_t* right, std::size_t rows,
                         double* gradient, double* curvature) {
    const auto width = functions.count * functions.knots + 1;
    std::vector<std::size_t> places;
    std::vector<double> shares;
    double loss = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        places.clear();
        shares.clear();
        const auto add = [&](std::size_t place, double share) {
            if (share == 0) return;
            places.push_back(place);
            shares.push_back(share);
        };
        double odds = functions.bias;
        for (std::size_t f = 0; f < functions.count; ++f) {
            const auto* k = functions.at + f * functions.knots;
            const auto* v = functions.values + f * functions.knots;
            const auto first = f * functions.knots;
            const auto n = static_cast<std::size_t>(functions.used[f]);
            const double x = features[row * functions.count + f];
            std::size_t i = 1;
            while (i < n && x >= k[i]) ++i;
            if (!(x > k[0])) {
                add(first, 1);
                odds += v[0];
            } else if (i == n) {
                add(first + n - 1, 1);
                odds += v[n - 1];
            } else {
                const auto share = (x - k[i - 1]) / (k[i] - k[i - 1]);
                add(first + i - 1, 1 - share);
                add(first + i, share);
                odds += v[i - 1] + (v[i] - v[i - 1]) * share;
            }
        }
        add(width - 1, 1);
        const auto p = 1 / (1 + std::exp(-odds));
        const auto slope = p - (right[row] ? 1 : 0), bend = std::max(p * (1 - p), 1e-9);
        // log(1 + exp(odds)) - right * odds, without overflow
        loss += std::log1p(std::exp(-std::abs(odds))) + (odds > 0 ? odds : 0) - (right[row] ? odds : 0);
        for (std::size_t i = 0; i < places.size(); ++i) {
            gradient[places[i]] += slope * shares[i];
            auto* line = curvature + places[i] * width;
            const auto weight = bend * shares[i];
            for (std::size_t j = i; j < places.size(); ++j) line[places[j]] += weight * shares[j];
        }
    }
    for (std::size_t i = 0; i < width; ++i)
        for (std::size_t j = 0; j < i; ++j) curvature[i * width + j] = curvature[j * width + i];
    return loss;
}

// The minimum of a quadratic function within bounds, by one coordinate after another, from `at` on: `gradient` is the
// slope there, `curvature` (width × width) is symmetric, with a positive diagonal. `at` and `gradient` are moved on.
inline void minimise_within(std::size_t width, double* at, double* gradient, const double* curvature, const double* low,
                            const double* high, int sweeps) {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        double largest = 0;
        for (std::size_t j = 0; j < width; ++j) {
            const auto* line = curvature + j * width;
            const auto next = std::min(std::max(at[j] - gradient[j] / line[j], low[j]), high[j]);
            const auto step = next - at[j];
            if (step == 0) continue;
            for (std::size_t i = 0; i < width; ++i) gradient[i] += line[i] * step;
            at[j] = next;
            largest = std::max(largest, std::abs(step));
        }
        if (largest < 1e-6) break;
    }
}

}  // namespace xtrellis::names
