#include "neural/bag.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dispatch.hpp"

namespace xtrellis::neural {
namespace {

constexpr std::size_t ahead = 4;  // embeddings are fetched so many entries before they are needed

XTRELLIS_INLINE void fetch(const float* row, Offset dim) {
#if defined(__GNUC__)
    for (Offset j = 0; j < dim; j += 16) __builtin_prefetch(row + j);
#endif
}

XTRELLIS_INLINE void add(float* __restrict out, const float* __restrict row, float weight, Offset dim) {
    for (Offset j = 0; j < dim; ++j) out[j] += weight * row[j];
}

}  // namespace

XTRELLIS_CLONES void bag(const Csr& batch, Offset first, Offset last, const float* W, Offset dim, float* out) {
    for (Offset r = first; r < last; ++r) {
        const SparseRow x = batch[r];
        float* sum = out + r * dim;
        std::fill(sum, sum + dim, 0.0f);
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (i + ahead < x.size()) fetch(W + static_cast<Offset>(x.ids[i + ahead]) * dim, dim);
            add(sum, W + static_cast<Offset>(x.ids[i]) * dim, x.values[i], dim);
        }
    }
}

XTRELLIS_CLONES void update_bag(std::span<const Id> ids, const Offset* offsets, const Id* rows, const float* values,
                                Offset first, Offset last, const float* G, Offset dim, float* W, float* sums, Step step,
                                double* squares) {
    std::vector<float> gradient(static_cast<std::size_t>(dim));
    std::vector<float> change(static_cast<std::size_t>(dim));  // summed in floats over few columns, then in doubles
    Offset held = 0;
    const auto settle = [&] {
        for (Offset j = 0; j < dim; ++j) squares[j] += static_cast<double>(change[static_cast<std::size_t>(j)]);
        std::fill(change.begin(), change.end(), 0.0f);
        held = 0;
    };
    for (Offset c = first; c < last; ++c) {
        if (c + 2 < last) fetch(W + static_cast<Offset>(ids[static_cast<std::size_t>(c + 2)]) * dim, dim);
        float* g = gradient.data();
        std::fill(g, g + dim, 0.0f);
        for (Offset e = offsets[c]; e < offsets[c + 1]; ++e)
            add(g, G + static_cast<Offset>(rows[e]) * dim, values[e], dim);
        float square = 0;
        for (Offset j = 0; j < dim; ++j) square += g[j] * g[j];
        const Id id = ids[static_cast<std::size_t>(c)];
        sums[id] += square;
        const float rate = step.rate / (std::sqrt(sums[id]) + step.epsilon);
        float* w = W + static_cast<Offset>(id) * dim;
        float* grown = change.data();
        for (Offset j = 0; j < dim; ++j) {
            const float next = w[j] - rate * g[j];
            grown[j] += next * next - w[j] * w[j];
            w[j] = next;
        }
        if (++held == 64) settle();
    }
    settle();
}

XTRELLIS_CLONES void update_unit(std::span<const Id> ids, const float* G, Offset dim, float* V, float* sums,
                                 Step step) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const float* g = G + static_cast<Offset>(i) * dim;
        float* v = V + static_cast<Offset>(ids[i]) * dim;
        float along = 0, square = 0;
        for (Offset j = 0; j < dim; ++j) along += g[j] * v[j];
        for (Offset j = 0; j < dim; ++j) {
            const float tangent = g[j] - along * v[j];
            square += tangent * tangent;
        }
        sums[ids[i]] += square;
        const float rate = step.rate / (std::sqrt(sums[ids[i]]) + step.epsilon);
        float length = 0;
        for (Offset j = 0; j < dim; ++j) {
            v[j] -= rate * (g[j] - along * v[j]);
            length += v[j] * v[j];
        }
        const float scale = 1 / std::sqrt(length);  // not 0: the step is at a right angle to a unit vector
        for (Offset j = 0; j < dim; ++j) v[j] *= scale;
    }
}

}  // namespace xtrellis::neural
