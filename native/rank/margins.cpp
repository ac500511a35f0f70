#include "rank/margins.hpp"

#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"

namespace xtrellis::rank {
namespace {

constexpr std::size_t many = 16;    // times as many weights as features: then features are looked up
constexpr Offset widest = 1 << 24;  // columns that a line is spread over; of more it would be 64 MB and up for a thread

XTRELLIS_INLINE float dense_dot(const Id* features, const float* weights, std::size_t n, const float* line) {
    float sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += weights[i] * line[features[i]];
    return sum;
}

inline float sparse_dot(const Id* features, const float* weights, std::size_t n, const SparseRow& x) {
    float sum = 0;
    const Id *at = features, *end = features + n;
    for (std::size_t i = 0; i < x.size() && at < end; ++i) {
        at = std::lower_bound(at, end, x.ids[i]);
        if (at < end && *at == x.ids[i]) sum += weights[at - features] * x.values[i];
    }
    return sum;
}

// One entry a feature, all zero between rows. Out of the cloned function: a local of its own would exist once a clone.
std::vector<float>& dense_line(Offset columns) {
    thread_local std::vector<float> line;
    if (line.size() < static_cast<std::size_t>(columns)) line.resize(static_cast<std::size_t>(columns), 0.0f);
    return line;
}

}  // namespace

XTRELLIS_CLONES void margins(const Classifiers& c, const Csr& X, Offset first, Offset last, const Id* labels,
                             Offset width, float* out) {
    const bool spread = X.columns <= widest;
    std::vector<float>& line = dense_line(spread ? X.columns : 0);
    for (Offset row = first; row < last; ++row) {
        const SparseRow x = X[row];
        if (spread)
            for (std::size_t i = 0; i < x.size(); ++i) line[static_cast<std::size_t>(x.ids[i])] = x.values[i];
        const Id* wanted = labels + row * width;
        for (Offset j = 0; j < width; ++j) {
            const Id label = wanted[j];
            if (j + 1 < width && wanted[j + 1] >= 0) {
                __builtin_prefetch(c.features + c.offsets[wanted[j + 1]]);
                __builtin_prefetch(c.weights + c.offsets[wanted[j + 1]]);
            }
            if (label < 0) continue;
            const Offset begin = c.offsets[label];
            const auto n = static_cast<std::size_t>(c.offsets[label + 1] - begin);
            const float dot = !spread || n > many * x.size()
                                  ? sparse_dot(c.features + begin, c.weights + begin, n, x)
                                  : dense_dot(c.features + begin, c.weights + begin, n, line.data());
            out[row * width + j] = c.biases[label] + dot;
        }
        if (spread)
            for (const Id id : x.ids) line[static_cast<std::size_t>(id)] = 0;
    }
}

}  // namespace xtrellis::rank
