#include "neural/shortlist.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/dispatch.hpp"
#include "core/topk.hpp"
#include "neural/tile.hpp"

namespace xtrellis::neural {
namespace {

constexpr float nothing = -std::numeric_limits<float>::infinity();
constexpr Offset ahead = 8;  // label vectors are fetched so many places before they are needed

XTRELLIS_INLINE void fetch(const float* row, Offset dim) {
#if defined(__GNUC__)
    for (Offset j = 0; j < dim; j += 16) __builtin_prefetch(row + j);
#endif
}

// Floats as integers of the same order.
XTRELLIS_INLINE std::uint32_t ordered(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// The k-th largest value (k ≥ 1, k ≤ size): a histogram of the leading bits, then a selection in one of its buckets.
class Select {
public:
    float operator()(const std::vector<float>& values, std::size_t k) {
        counts_.fill(0);
        for (const float v : values) ++counts_[ordered(v) >> shift];
        std::size_t above = 0, bucket = counts_.size() - 1;
        while (above + counts_[bucket] < k) above += counts_[bucket--];
        inside_.clear();
        for (const float v : values) {
            if (ordered(v) >> shift == bucket) inside_.push_back(v);
        }
        const auto at = inside_.begin() + static_cast<std::ptrdiff_t>(k - above - 1);
        std::nth_element(inside_.begin(), at, inside_.end(), std::greater<>());
        return *at;
    }

private:
    static constexpr int shift = 20;
    std::array<std::uint32_t, 1u << (32 - shift)> counts_;
    std::vector<float> inside_;
};

// Four products with one row at a time, each added up as `dot` does.
XTRELLIS_INLINE void dots4(const float* a, const float* const w[4], Offset dim, float out[4]) {
    Floats sums[4] = {};
    Offset j = 0;
    for (; j + 16 <= dim; j += 16) {
        const Floats left = Vector::load(a + j);
        for (int c = 0; c < 4; ++c) sums[c] += left * Vector::load(w[c] + j);
    }
    if (j < dim) {
        const auto rest = [&](const float* from) {
            float padded[16] = {};
            std::copy(from + j, from + dim, padded);
            return Vector::load(padded);
        };
        const Floats left = rest(a);
        for (int c = 0; c < 4; ++c) sums[c] += left * rest(w[c]);
    }
    for (int c = 0; c < 4; ++c) out[c] = total(sums[c]);
}

XTRELLIS_INLINE void add(float* __restrict out, const float* __restrict row, float weight, Offset dim) {
    for (Offset j = 0; j < dim; ++j) out[j] += weight * row[j];
}

XTRELLIS_INLINE void adam_step(const float* __restrict g, Offset n, float* __restrict w, float* __restrict m,
                               float* __restrict v, const AdamStep& s) {
    for (Offset j = 0; j < n; ++j) {
        m[j] = s.beta1 * m[j] + (1 - s.beta1) * g[j];
        v[j] = s.beta2 * v[j] + (1 - s.beta2) * g[j] * g[j];
        const float step = m[j] * s.correction1 / (std::sqrt(v[j] * s.correction2) + s.epsilon);
        w[j] -= s.rate * (step + s.decay * w[j]);
    }
}

XTRELLIS_INLINE void products_of_row(const float* a, Offset dim, const float* W, const Id* ids, Offset k, float* out) {
    Offset j = 0;
    for (; j + 4 <= k; j += 4) {
        const float* w[4];
        for (int c = 0; c < 4; ++c) {
            if (j + c + ahead < k && ids[j + c + ahead] >= 0) fetch(W + ids[j + c + ahead] * dim, dim);
            w[c] = ids[j + c] < 0 ? a : W + ids[j + c] * dim;
        }
        dots4(a, w, dim, out + j);
    }
    for (; j < k; ++j) out[j] = dot(a, ids[j] < 0 ? a : W + ids[j] * dim, dim);
    for (j = 0; j < k; ++j) {
        if (ids[j] < 0) out[j] = 0;
    }
}

}  // namespace

void beam(const float* scores, Offset n, Offset clusters, Offset beam, Id* found) {
    TopKHeap heap;
    for (Offset row = 0; row < n; ++row) {
        heap.reset(static_cast<std::size_t>(beam));
        for (Offset c = 0; c < clusters; ++c) heap.offer({scores[row * clusters + c], static_cast<Id>(c)});
        heap.drain([&](std::size_t i, const Scored& s) { found[row * beam + static_cast<Offset>(i)] = s.label; });
    }
}

XTRELLIS_CLONES void shortlist(const Id* clusters, const float* logs, const float* shares, Offset n, Offset beam,
                               const Edges& edges, const Csr& wanted, Offset k, Id* labels, float* log_scores,
                               std::int32_t* paths) {
    struct Best {
        float worth;  // what decides who is kept; nothing: not reached
        float score;
        std::int32_t path;
    };
    std::vector<Best> best(static_cast<std::size_t>(edges.labels), {nothing, nothing, 0});
    std::vector<Id> reached;
    std::vector<float> values;
    Select select;
    for (Offset row = 0; row < n; ++row) {
        reached.clear();
        for (Offset b = 0; b < beam; ++b) {
            const Id cluster = clusters[row * beam + b];
            if (cluster < 0) continue;
            const float log = logs[row * beam + b];
            const float share = shares ? shares[row * beam + b] : 0;
            const Id* ids = edges.ids + cluster * edges.width;
            const float* weights = edges.logs + cluster * edges.width;
            const float* scores = shares ? edges.scores + cluster * edges.width : nullptr;
            for (Offset e = 0; e < edges.width; ++e) {
                if (ids[e] < 0) continue;
                Best& there = best[static_cast<std::size_t>(ids[e])];
                if (there.worth == nothing) {
                    reached.push_back(ids[e]);
                    there = {shares ? 0 : nothing, nothing, 0};
                }
                const float score = std::max(log + weights[e], -1e30f);  // below everything, but reached
                if (score > there.score) {
                    there.score = score;
                    there.path = static_cast<std::int32_t>(b * edges.width + e);
                }
                there.worth = shares ? there.worth + share * scores[e] : there.score;
            }
        }
        Id* out = labels + row * k;
        float* out_scores = log_scores + row * k;
        std::int32_t* out_paths = paths + row * k;
        Offset used = 0;
        const auto keep = [&](Id label) {
            Best& there = best[static_cast<std::size_t>(label)];
            out[used] = label;
            out_scores[used] = there.score;
            out_paths[used] = there.path;
            ++used;
        };
        if (wanted.rows > 0) {
            for (const Id label : wanted[row].ids) {
                if (used == k || best[static_cast<std::size_t>(label)].worth == nothing) continue;
                keep(label);
                best[static_cast<std::size_t>(label)].worth = nothing;
            }
        }
        const Offset left = k - used;
        values.clear();
        for (const Id label : reached) {
            const float worth = best[static_cast<std::size_t>(label)].worth;
            if (worth != nothing) values.push_back(worth);
        }
        if (static_cast<Offset>(values.size()) <= left) {
            for (const Id label : reached) {
                if (best[static_cast<std::size_t>(label)].worth != nothing) keep(label);
            }
        } else if (left > 0) {
            const float least = select(values, static_cast<std::size_t>(left));
            for (const Id label : reached) {
                if (best[static_cast<std::size_t>(label)].worth > least) keep(label);
            }
            // Of those that are just as good as the last one, the smallest numbers.
            std::vector<Id> equal;
            for (const Id label : reached) {
                if (best[static_cast<std::size_t>(label)].worth == least) equal.push_back(label);
            }
            std::nth_element(equal.begin(), equal.begin() + (k - used - 1), equal.end());
            std::sort(equal.begin(), equal.begin() + (k - used));
            for (std::size_t i = 0; used < k; ++i) keep(equal[i]);
        }
        for (const Id label : reached) best[static_cast<std::size_t>(label)].worth = nothing;
        std::fill(out + used, out + k, -1);
        std::fill(out_scores + used, out_scores + k, -1e30f);
        std::fill(out_paths + used, out_paths + k, -1);
    }
}

void shortlist_back(const float* gradient, const std::int32_t* paths, const Id* clusters, Offset n, Offset beam,
                    Offset k, Offset width, float* by_cluster, float* by_edge) {
    std::fill(by_cluster, by_cluster + n * beam, 0.0f);
    for (Offset row = 0; row < n; ++row) {
        for (Offset j = 0; j < k; ++j) {
            const std::int32_t path = paths[row * k + j];
            if (path < 0) continue;
            const Offset place = path / width, edge = path % width;
            const float g = gradient[row * k + j];
            by_cluster[row * beam + place] += g;
            by_edge[clusters[row * beam + place] * width + edge] += g;
        }
    }
}

XTRELLIS_CLONES void gather_dots(const float* a, Offset n, Offset dim, const float* W, const Id* ids, Offset k,
                                 float* out) {
    for (Offset row = 0; row < n; ++row) products_of_row(a + row * dim, dim, W, ids + row * k, k, out + row * k);
}

XTRELLIS_CLONES void gather_sums(const float* g, Offset n, Offset dim, const float* W, const Id* ids, Offset k,
                                 float* out) {
    for (Offset row = 0; row < n; ++row) {
        const Id* id = ids + row * k;
        float* sum = out + row * dim;
        std::fill(sum, sum + dim, 0.0f);
        for (Offset j = 0; j < k; ++j) {
            if (j + ahead < k && id[j + ahead] >= 0) fetch(W + id[j + ahead] * dim, dim);
            if (id[j] >= 0) add(sum, W + id[j] * dim, g[row * k + j], dim);
        }
    }
}

XTRELLIS_CLONES void scatter_sums(const Offset* offsets, const Id* rows, const float* g, Offset first, Offset last,
                                  const float* A, Offset dim, float* out) {
    for (Offset c = first; c < last; ++c) {
        float* sum = out + c * dim;
        std::fill(sum, sum + dim, 0.0f);
        for (Offset e = offsets[c]; e < offsets[c + 1]; ++e) add(sum, A + rows[e] * dim, g[e], dim);
    }
}

XTRELLIS_CLONES void adam(const float* gradient, Offset n, float* values, float* moment1, float* moment2,
                          AdamStep step) {
    adam_step(gradient, n, values, moment1, moment2, step);
}

XTRELLIS_CLONES void update_rows(std::span<const Id> ids, const Offset* offsets, const Id* rows, const float* g,
                                 Offset first, Offset last, const float* A, Offset dim, float* W, float* moment1,
                                 float* moment2, AdamStep s) {
    std::vector<float> gradient(static_cast<std::size_t>(dim));
    float* __restrict sum = gradient.data();
    for (Offset c = first; c < last; ++c) {
        std::fill(sum, sum + dim, 0.0f);
        for (Offset e = offsets[c]; e < offsets[c + 1]; ++e) add(sum, A + rows[e] * dim, g[e], dim);
        const Offset at = static_cast<Offset>(ids[static_cast<std::size_t>(c)]) * dim;
        const float bias = W[at + dim - 1];
        adam_step(sum, dim, W + at, moment1 + at, moment2 + at, s);
        W[at + dim - 1] += s.rate * s.decay * bias;
    }
}

XTRELLIS_CLONES void rank(const float* a, Offset n, Offset dim, const float* W, const Id* ids, const float* log_scores,
                          Offset width, Offset k, Id* found, float* scores) {
    TopKHeap heap;
    std::vector<float> products(static_cast<std::size_t>(width));
    for (Offset row = 0; row < n; ++row) {
        const Id* id = ids + row * width;
        products_of_row(a + row * dim, dim, W, id, width, products.data());
        heap.reset(static_cast<std::size_t>(k));
        for (Offset j = 0; j < width; ++j) {
            if (id[j] < 0) continue;
            const float x = products[static_cast<std::size_t>(j)], before = log_scores[row * width + j];
            // log σ(x) ≤ min(x, 0): most labels are out without an exponential.
            if (heap.full() && before + std::min(x, 0.0f) < heap.worst().score) continue;
            heap.offer({before + std::min(x, 0.0f) - std::log1p(std::exp(-std::abs(x))), id[j]});
        }
        std::fill(found + row * k, found + (row + 1) * k, -1);
        std::fill(scores + row * k, scores + (row + 1) * k, nothing);
        heap.drain([&](std::size_t i, const Scored& s) {
            found[row * k + static_cast<Offset>(i)] = s.label;
            scores[row * k + static_cast<Offset>(i)] = s.score;
        });
    }
}

}  // namespace xtrellis::neural
