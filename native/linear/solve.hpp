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
//
// This file is compiled once an instruction set (variant.inc), and the linker keeps only one copy of every inline
// function it finds: what is here must be inlined entirely (XTRELLIS_INLINE) and use no library templates.
#pragma once

#include <cstdint>

#include "core/lanes.hpp"
#include "core/rng.hpp"

namespace xtrellis::linear {

enum class Loss : int { squared_hinge = 0, logistic = 1 };

struct Settings {
    Loss loss = Loss::squared_hinge;
    float cost_positive = 1;  // C of rows that have the label
    float cost_negative = 1;  // C of rows that do not
    float tolerance = 0.1f;   // largest spread of projected gradients at which a classifier counts as solved
    int epochs = 100;
};

// Where the entries of a row are.
struct Fetched {
    const std::int32_t* ids;
    const float* values;
};

// The problem as plain arrays (Problem in problem.hpp).
struct Rows {
    std::uint32_t count = 0;
    const std::int64_t* begins = nullptr;  // of a row's features
    const std::int64_t* shared = nullptr;  // where those end that other rows have too
    const std::int64_t* ends = nullptr;
    const std::int32_t* ids = nullptr;
    const float* values = nullptr;
    const float* norms = nullptr;
    const float* own = nullptr;
    float bias = 0;
    const float* lightness = nullptr;  // 1 / (how much a row counts); null: all are alike
    void* file = nullptr;              // of rows that are too many for memory; `fetch` gets the entries of one
    Fetched (*fetch)(void* file, std::int64_t begin, std::int64_t end) = nullptr;
    void (*expect)(void* file, std::int64_t begin, std::int64_t end) = nullptr;  // it will be fetched soon
    const int* slow = nullptr;                                                   // not 0 while it is worth telling
    const std::int32_t* kept = nullptr;  // those that are in memory: a row's ids, its values, those of the next
    std::int64_t in_memory = 0;          // entries
};

// What a rule wants to know of a row's length, for positive and negative rows; and 1 / (how much the row counts).
struct Curvature {
    float positive, negative, lightness;
};

// All that a visit of a row needs beside its features and α: rows are visited in random order, and what lies together
// is fetched together.
struct Visited {
    std::int64_t begin;    // of its features
    std::uint32_t shared;  // how many of them other rows have too
    std::uint32_t mask;    // bit l is set if the row has label l
    float own;
    Curvature curvature;
};
static_assert(sizeof(Visited) == 32);

// What one group of classifiers is solved in: zeroed by the caller, stride is its number of lanes.
struct Arrays {
    float* weights;        // width × stride
    float* alphas;         // rows × stride
    float* biases;         // stride
    std::uint32_t* order;  // rows
    Visited* visited;      // rows
};

struct Outcome {
    int epochs = 0;
    std::uint32_t unsolved = 0;  // bit l is set if classifier l was not solved when the epochs were used up
};

XTRELLIS_INLINE void swap(std::uint32_t& a, std::uint32_t& b) {
    const std::uint32_t c = a;
    a = b;
    b = c;
}

// The step of one row for all lanes; `live` lanes move, others stand still.
template <int N>
struct SquaredHinge {
    using L = Lanes<N>;
    using F = typename L::Floats;
    using I = typename L::Ints;
    static constexpr bool shrinks = true;
    // Steps go somewhat beyond the optimum of their coordinate (successive over-relaxation): any factor below 2 lowers
    // the objective at every step, and this one needs a sixth fewer epochs than 1.
    static constexpr float relaxation = 1.35f;
    F ridge_positive, ridge_negative;  // 1 / (2C)

    XTRELLIS_INLINE explicit SquaredHinge(const Settings& s)
        : ridge_positive(L::all(0.5f / s.cost_positive)), ridge_negative(L::all(0.5f / s.cost_negative)) {}

    struct Step {
        F next, gradient, violation;
    };
    // A division is slow and the next row waits for it: the reciprocals of the curvatures are computed beforehand.
    XTRELLIS_INLINE Curvature curvature(float norm, float lightness) const {
        return {relaxation / (L::at(ridge_positive, 0) * lightness + norm),
                relaxation / (L::at(ridge_negative, 0) * lightness + norm), lightness};
    }
    XTRELLIS_INLINE Step operator()(F a, F z, F s, I positive, Curvature inverse, I) const {
        const F ridge = (positive ? ridge_positive : ridge_negative) * inverse.lightness;
        const F g = s * z - 1.0f + ridge * a;
        const F next = L::max(a - g * (positive ? L::all(inverse.positive) : L::all(inverse.negative)), F{});
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

    XTRELLIS_INLINE explicit Logistic(const Settings& s)
        : cost_positive(s.cost_positive), cost_negative(s.cost_negative) {}

    struct Step {
        F next, gradient, violation;
    };
    // With α = C·σ(t) the optimum of one coordinate is the root of f(t) = norm·(C·σ(t) − a) + s·z + t, which rises with
    // slope ≥ 1: Newton inside a bracket that always holds the root.
    static XTRELLIS_INLINE float root(float a, float margin, float norm, float cost) {
        float low = -margin - norm * (cost - a), high = -margin + norm * a;
        float t = a <= 0 ? low : __builtin_logf(a / (cost - a));
        if (!(t >= low && t <= high)) t = 0.5f * (low + high);
        for (int i = 0; i < 40; ++i) {
            const float p = 1 / (1 + __builtin_expf(-t));
            const float f = norm * (cost * p - a) + margin + t;
            if (__builtin_fabsf(f) < 1e-5f * (1 + __builtin_fabsf(t))) break;
            (f > 0 ? high : low) = t;
            const float newton = t - f / (norm * cost * p * (1 - p) + 1);
            t = newton > low && newton < high ? newton : 0.5f * (low + high);
        }
        return t;
    }
    XTRELLIS_INLINE Curvature curvature(float norm, float lightness) const { return {norm, norm, lightness}; }
    XTRELLIS_INLINE Step operator()(F a, F z, F s, I positive, Curvature curvature, I live) const {
        const float norm = curvature.positive;
        Step step{a, F{}, F{}};
        for (int l = 0; l < N; ++l) {
            if (!L::is_true(live, l)) continue;
            const float cost = (L::is_true(positive, l) ? cost_positive : cost_negative) / curvature.lightness;
            const float margin = L::at(s, l) * L::at(z, l);
            const float t = root(L::at(a, l), margin, norm, cost);
            float next = cost / (1 + __builtin_expf(-t));
            next = __builtin_fminf(next, cost * (1 - 1e-6f));  // strictly inside, or log(α/(C−α)) is lost
            // How far the current α is from what its margin asks for, in probability: bounded, unlike the logit.
            L::set(step.violation, l, L::at(a, l) / cost - 1 / (1 + __builtin_expf(margin)));
            L::set(step.next, l, next);
        }
        return step;
    }
};

// Solve up to K·N classifiers: K vectors of N lanes, so that while one waits for its margin the other computes.
// `masks[i]` has bit l set if row i has label l; `lanes` says how many are real. Converged lanes freeze; rows at rest
// in all lanes drop out until the end, when everything is looked at once more.
template <int N, int K, class Rule>
XTRELLIS_INLINE Outcome solve_group(const Rows& p, const std::uint32_t* masks, int lanes, const Settings& settings,
                                    std::uint64_t key, const Arrays& arrays) {
    using L = Lanes<N>;
    using F = typename L::Floats;
    using I = typename L::Ints;
    constexpr float inf = __builtin_inff();
    constexpr std::size_t stride = static_cast<std::size_t>(N) * K;
    const Rule rule(settings);
    const std::uint32_t rows = p.count;
    std::uint32_t* order = arrays.order;
    Visited* visited = arrays.visited;
    float *weights = arrays.weights, *alphas = arrays.alphas, *biases = arrays.biases;
    for (std::uint32_t i = 0; i < rows; ++i) {
        order[i] = i;
        visited[i] = {p.begins[i], static_cast<std::uint32_t>(p.shared[i] - p.begins[i]), masks[i], p.own[i],
                      rule.curvature(p.norms[i], p.lightness ? p.lightness[i] : 1.0f)};
    }
    constexpr int chains = stride == 1 ? 4 : 2;  // one lane alone waits for every single addition
    constexpr std::uint32_t near = 3, far = 8;   // rows ahead whose features, and whose place, are asked for
    constexpr std::uint32_t soon = 32;           // rows ahead that a disk is asked for
    const std::int32_t* ids = p.ids;
    const float* values = p.values;

    I real[K], live[K];
    F bias_weights[K], rest_above[K];  // a row at α = 0 whose gradient is above `rest_above` is left alone for now
    const std::uint32_t all_real = lanes >= 32 ? ~0u : (1u << lanes) - 1u;
    for (int k = 0; k < K; ++k) {
        live[k] = real[k] = L::spread(all_real >> (k * N));
        bias_weights[k] = L::load(biases + k * N);
        rest_above[k] = L::all(inf);
    }
    std::uint32_t active = rows;
    Rng rng(key);
    Outcome outcome;
    bool converged = false;

    while (outcome.epochs < settings.epochs) {
        ++outcome.epochs;
        const bool whole = active == rows;
        for (std::uint32_t i = active; i > 1; --i) swap(order[i - 1], order[rng.below(i)]);
        F highest[K] = {}, lowest[K] = {};  // of the projected gradients; at the optimum all of them are 0
        for (std::uint32_t at = 0; at < active;) {
            const std::uint32_t i = order[at];
            // Rows come in random order, and a large node's do not fit the caches near the core: ask for them early.
            if (at + far < active) __builtin_prefetch(visited + order[at + far]);
            if (at + near < active) {
                const std::uint32_t next = order[at + near];
                const Visited& v = visited[next];
                if (!p.fetch) {
                    for (std::uint32_t f = 0; f < v.shared; f += 16) {
                        __builtin_prefetch(ids + v.begin + f);
                        __builtin_prefetch(values + v.begin + f);
                    }
                } else if (v.begin < p.in_memory) {
                    for (std::uint32_t f = 0; f < 2 * v.shared; f += 16) __builtin_prefetch(p.kept + 2 * v.begin + f);
                }
                for (std::size_t l = 0; l < stride; l += 16)
                    __builtin_prefetch(alphas + static_cast<std::size_t>(next) * stride + l, 1);
            }
            const Visited row = visited[i];
            std::int64_t begin = row.begin, end = begin + row.shared;
            if (p.fetch) {
                if (*p.slow && at + soon < active) {
                    const Visited& v = visited[order[at + soon]];
                    p.expect(p.file, v.begin, v.begin + v.shared);
                }
                const Fetched entries = p.fetch(p.file, begin, p.ends[i]);
                ids = entries.ids, values = entries.values, end -= begin, begin = 0;
            }
            // Several sums, or each product would wait for the one before it.
            F z[chains][K];
            for (int c = 0; c < chains; ++c)
                for (int k = 0; k < K; ++k) z[c][k] = c == 0 ? bias_weights[k] * p.bias : F{};
            std::int64_t j = begin;
            for (; j + chains <= end; j += chains) {
                for (int c = 0; c < chains; ++c) {
                    const float* w = weights + static_cast<std::size_t>(ids[j + c]) * stride;
                    for (int k = 0; k < K; ++k) z[c][k] += values[j + c] * L::load(w + k * N);
                }
            }
            for (; j < end; ++j) {
                const float* w = weights + static_cast<std::size_t>(ids[j]) * stride;
                for (int k = 0; k < K; ++k) z[0][k] += values[j] * L::load(w + k * N);
            }
            for (int c = 1; c < chains; ++c)
                for (int k = 0; k < K; ++k) z[0][k] += z[c][k];
            float* alpha = alphas + static_cast<std::size_t>(i) * stride;
            F delta[K], next[K], violation[K];
            I moving{}, awake{};
            for (int k = 0; k < K; ++k) {
                const F a = L::load(alpha + k * N);
                const I positive = L::spread(row.mask >> (k * N));
                const F s = positive ? L::all(1.0f) : L::all(-1.0f);
                const auto step = rule(a, z[0][k] + row.own * (a * s), s, positive, row.curvature, live[k]);
                const F move = live[k] ? step.next - a : F{};
                if constexpr (Rule::shrinks) awake |= live[k] & ((a > 0.0f) | (step.gradient <= rest_above[k]));
                violation[k] = step.violation;
                next[k] = a + move;
                delta[k] = move * s;
                moving |= move != 0.0f;
            }
            if constexpr (Rule::shrinks) {
                if (!L::any(awake)) {
                    swap(order[at], order[--active]);
                    continue;
                }
            }
            for (int k = 0; k < K; ++k) {
                highest[k] = L::max(highest[k], violation[k]);
                lowest[k] = L::min(lowest[k], violation[k]);
            }
            if (L::any(moving)) {
                for (int k = 0; k < K; ++k) {
                    L::store(alpha + k * N, next[k]);
                    bias_weights[k] += p.bias * delta[k];
                }
                for (j = begin; j < end; ++j) {
                    float* w = weights + static_cast<std::size_t>(ids[j]) * stride;
                    for (int k = 0; k < K; ++k) L::store(w + k * N, L::load(w + k * N) + values[j] * delta[k]);
                }
            }
            ++at;
        }
        // Lanes whose projected gradients agree within the tolerance are solved on the rows still looked at.
        I unsolved{};
        for (int k = 0; k < K; ++k) {
            live[k] &= highest[k] - lowest[k] > settings.tolerance;
            rest_above[k] = highest[k] > 0.0f ? highest[k] : L::all(inf);
            unsolved |= live[k];
        }
        if (L::any(unsolved)) continue;
        if (whole) {
            converged = true;
            break;
        }
        active = rows;
        for (int k = 0; k < K; ++k) live[k] = real[k], rest_above[k] = L::all(inf);
    }
    // Lanes solved on the rows still looked at, but not yet on all of them, are live again: they count as unsolved.
    for (int k = 0; k < K && !converged; ++k) {
        for (int l = 0; l < N; ++l)
            outcome.unsolved |= static_cast<std::uint32_t>(L::is_true(live[k], l)) << (k * N + l);
    }
    for (int k = 0; k < K; ++k) L::store(biases + k * N, bias_weights[k]);
    for (std::uint32_t i = 0; i < rows; ++i) {
        std::int64_t begin = p.shared[i], end = p.ends[i];
        if (p.fetch && begin < end) {
            const Fetched row = p.fetch(p.file, p.begins[i], end);
            ids = row.ids, values = row.values, begin -= p.begins[i], end -= p.begins[i];
        }
        for (int k = 0; k < K; ++k) {
            const F s = L::spread(masks[i] >> (k * N)) ? L::all(1.0f) : L::all(-1.0f);
            const F part = L::load(alphas + static_cast<std::size_t>(i) * stride + k * N) * s;
            for (std::int64_t j = begin; j < end; ++j) {
                L::store(weights + static_cast<std::size_t>(ids[j]) * stride + k * N, values[j] * part);
            }
        }
    }
    return outcome;
}

}  // namespace xtrellis::linear
