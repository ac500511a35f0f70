// Dual coordinate descent for a group of classifiers in lock-step.
//
// The classifiers of a group see the same rows in the same order; lane l of every vector belongs to classifier l. One
// visit of a row computes all margins, all steps and all updates with contiguous vector operations: the weights are
// stored feature-major, one line of lanes a feature.
//
// Squared hinge (Hsieh et al. 2008, L2-loss): min ½αᵀQα + ¼Σα²/C − Σα, α ≥ 0, with W = Σ αᵢ yᵢ xᵢ.
// Logistic (Yu, Huang, Lin 2011): min ½αᵀQα + Σ α log α + (C−α) log(C−α), 0 < α < C.
//
// Legend: a = α, s = y ∈ {−1, +1}, z = margin w·x, g = gradient of the dual, pg = projected gradient.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/lanes.hpp"
#include "core/rng.hpp"
#include "linear/problem.hpp"

namespace xtrellis::linear {

enum class Loss : int { squared_hinge = 0, logistic = 1 };

struct Settings {
    Loss loss = Loss::squared_hinge;
    float cost_positive = 1;   // C of rows that have the label
    float cost_negative = 1;   // C of rows that do not
    float tolerance = 0.1f;    // largest spread of projected gradients at which a classifier counts as solved
    int epochs = 100;
};

struct Outcome {
    int epochs = 0;
    bool converged = false;
};

// The step of one row for all lanes; `live` lanes move, others stand still.
template <int N>
struct SquaredHinge {
    using L = Lanes<N>;
    using F = typename L::Floats;
    using I = typename L::Ints;
    static constexpr bool shrinks = true;
    F ridge_positive, ridge_negative;  // 1 / (2C)

    explicit SquaredHinge(const Settings& s)
        : ridge_positive(L::all(0.5f / s.cost_positive)), ridge_negative(L::all(0.5f / s.cost_negative)) {}

    struct Step {
        F next, gradient, violation;
    };
    XTRELLIS_INLINE Step operator()(F a, F z, F s, I positive, float norm, I) const {
        const F ridge = positive ? ridge_positive : ridge_negative;
        const F g = s * z - 1.0f + ridge * a;
        const F next = L::max(a - g / (ridge + norm), F{});
        return {next, g, a > 0.0f ? g : L::min(g, F{})};
    }
};

template <int N>
struct Logistic {
    using L = Lanes<N>;
    using F = typename L::Floats;
    using I = typename L::Ints;
    static constexpr bool shrinks = false;  // every α is interior: nothing ever rests at a bound
    float cost_positive, cost_negative;

    explicit Logistic(const Settings& s) : cost_positive(s.cost_positive), cost_negative(s.cost_negative) {}

    struct Step {
        F next, gradient, violation;
    };
    // With α = C·σ(t) the optimum of one coordinate is the root of f(t) = norm·(C·σ(t) − a) + s·z + t, which rises with
    // slope ≥ 1: Newton inside a bracket that always holds the root.
    static float root(float a, float margin, float norm, float cost) {
        float low = -margin - norm * (cost - a), high = -margin + norm * a;
        float t = a <= 0 ? low : std::log(a / (cost - a));
        if (!(t >= low && t <= high)) t = 0.5f * (low + high);
        for (int i = 0; i < 40; ++i) {
            const float p = 1 / (1 + std::exp(-t));
            const float f = norm * (cost * p - a) + margin + t;
            if (std::fabs(f) < 1e-5f * (1 + std::fabs(t))) break;
            (f > 0 ? high : low) = t;
            const float newton = t - f / (norm * cost * p * (1 - p) + 1);
            t = newton > low && newton < high ? newton : 0.5f * (low + high);
        }
        return t;
    }
    XTRELLIS_INLINE Step operator()(F a, F z, F s, I positive, float norm, I live) const {
        Step step{a, F{}, F{}};
        for (int l = 0; l < N; ++l) {
            if (!live[l]) continue;
            const float cost = positive[l] ? cost_positive : cost_negative;
            const float margin = s[l] * z[l];
            const float t = root(a[l], margin, norm, cost);
            float next = cost / (1 + std::exp(-t));
            next = std::fmin(next, cost * (1 - 1e-6f));  // strictly inside, or log(α/(C−α)) is lost
            // How far the current α is from what its margin asks for, in probability: bounded, unlike the logit.
            step.violation[l] = a[l] / cost - 1 / (1 + std::exp(margin));
            step.next[l] = next;
        }
        return step;
    }
};

// Solve up to N classifiers. `masks[i]` has bit l set if row i has label l; `lanes` says how many are real.
// `weights` (width × N, zeroed by the caller, or a warm start that matches `alphas`) and `alphas` (rows × N) are
// updated; `biases` gets the constant feature's weights. Converged lanes freeze; rows at rest in all lanes drop out
// until the end, when everything is looked at once more.
template <int N, class Rule>
XTRELLIS_INLINE Outcome solve_group(const Problem& p, const std::uint16_t* masks, int lanes, const Settings& settings,
                                    std::uint64_t key, float* weights, float* alphas, float* biases) {
    using L = Lanes<N>;
    using F = typename L::Floats;
    using I = typename L::Ints;
    constexpr float inf = std::numeric_limits<float>::infinity();
    const Rule rule(settings);
    const auto rows = static_cast<std::uint32_t>(p.rows());
    std::vector<std::uint32_t> order(rows);
    for (std::uint32_t i = 0; i < rows; ++i) order[i] = i;
    const Id* ids = p.x.ids.data();
    const float* values = p.x.values.data();

    const I real = L::spread(lanes >= 32 ? ~0u : (1u << lanes) - 1u);
    I live = real;
    F bias_weights = L::load(biases);
    F rest_above = L::all(inf);  // a row at α = 0 whose gradient is above this is left alone for now
    std::uint32_t active = rows;
    Rng rng(key);
    Outcome outcome;

    while (outcome.epochs < settings.epochs) {
        ++outcome.epochs;
        const bool whole = active == rows;
        for (std::uint32_t i = active; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
        F highest{}, lowest{};  // of the projected gradients; at the optimum all of them are 0
        for (std::uint32_t at = 0; at < active;) {
            const std::uint32_t i = order[at];
            const Offset begin = p.x.offsets[i], end = p.x.offsets[i + 1];
            F z0 = bias_weights * p.bias, z1{};
            Offset j = begin;
            for (; j + 1 < end; j += 2) {
                z0 += values[j] * L::load(weights + static_cast<std::size_t>(ids[j]) * N);
                z1 += values[j + 1] * L::load(weights + static_cast<std::size_t>(ids[j + 1]) * N);
            }
            if (j < end) z0 += values[j] * L::load(weights + static_cast<std::size_t>(ids[j]) * N);

            float* alpha = alphas + static_cast<std::size_t>(i) * N;
            const F a = L::load(alpha);
            const I positive = L::spread(masks[i]);
            const F s = positive ? L::all(1.0f) : L::all(-1.0f);
            const auto step = rule(a, z0 + z1, s, positive, p.norms[i], live);
            if constexpr (Rule::shrinks) {
                if (!L::any(live & ((a > 0.0f) | (step.gradient <= rest_above)))) {
                    std::swap(order[at], order[--active]);
                    continue;
                }
            }
            highest = L::max(highest, step.violation);
            lowest = L::min(lowest, step.violation);
            const F move = live ? step.next - a : F{};
            if (L::any(move != 0.0f)) {
                L::store(alpha, a + move);
                const F delta = move * s;
                for (j = begin; j < end; ++j) {
                    float* w = weights + static_cast<std::size_t>(ids[j]) * N;
                    L::store(w, L::load(w) + values[j] * delta);
                }
                bias_weights += p.bias * delta;
            }
            ++at;
        }
        // Lanes whose projected gradients agree within the tolerance are solved on the rows still looked at.
        live &= highest - lowest > settings.tolerance;
        rest_above = highest > 0.0f ? highest : L::all(inf);
        if (!L::any(live)) {
            if (whole) {
                outcome.converged = true;
                break;
            }
            active = rows;
            live = real;
            rest_above = L::all(inf);
        }
    }
    L::store(biases, bias_weights);
    return outcome;
}

}  // namespace xtrellis::linear
