#include "cluster/kmeans.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/dispatch.hpp"
#include "core/lanes.hpp"

namespace xtrellis::cluster {
namespace {

using L = Lanes<KMeans::lanes>;
constexpr int most = 7;  // vectors of 16 clusters held in registers at once: the usual 100 clusters in one pass

struct Centres {
    const float* sums;
    const float* scale;
    const float* floor;
    std::size_t stride;
};

struct Best {
    float similarity = -std::numeric_limits<float>::infinity();
    Id cluster = 0;
};

// Compares one member with the N·16 clusters from `first` on.
template <int N>
XTRELLIS_INLINE void compare(const SparseRow& x, const Centres& centres, std::size_t first, Best& best) {
    L::Floats dots[N] = {};
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float* row = centres.sums + static_cast<std::size_t>(x.ids[i]) * centres.stride + first;
        const L::Floats value = L::all(x.values[i]);
        for (int j = 0; j < N; ++j) dots[j] += value * L::load(row + j * KMeans::lanes);
    }
    L::Floats top = L::all(-std::numeric_limits<float>::infinity());
    L::Ints at = {};
    for (int j = 0; j < N; ++j) {
        const std::size_t from = first + static_cast<std::size_t>(j) * KMeans::lanes;
        const L::Floats similarity = dots[j] * L::load(centres.scale + from) + L::load(centres.floor + from);
        const L::Ints better = similarity > top;
        top = better ? similarity : top;
        at = better ? L::Ints{} + j : at;
    }
    for (Id l = 0; l < KMeans::lanes; ++l) {
        const Id cluster = static_cast<Id>(first) + at[l] * KMeans::lanes + l;
        if (top[l] > best.similarity || (top[l] == best.similarity && cluster < best.cluster)) best = {top[l], cluster};
    }
}

template <int N>
XTRELLIS_INLINE void compare_rest(int vectors, const SparseRow& x, const Centres& centres, std::size_t first,
                                  Best& best) {
    if constexpr (N > 1) {
        if (vectors < N) return compare_rest<N - 1>(vectors, x, centres, first, best);
    }
    compare<N>(x, centres, first, best);
}

XTRELLIS_CLONES void assign_range(const Compact& v, const Centres& centres, Id k, std::size_t from, std::size_t to,
                                  Id* clusters, float* similarities) {
    constexpr std::size_t pass = most * KMeans::lanes;
    for (std::size_t i = from; i < to; ++i) {
        const SparseRow x = v[i];
        Best best;
        std::size_t first = 0;
        for (; first + pass <= centres.stride; first += pass) compare<most>(x, centres, first, best);
        const int rest = static_cast<int>((centres.stride - first) / KMeans::lanes);
        if (rest > 0) compare_rest<most - 1>(rest, x, centres, first, best);
        // Nothing in common with any centre: dealt out, since together such members would make one useless giant.
        clusters[i] = best.similarity == 0 ? static_cast<Id>(i % static_cast<std::size_t>(k)) : best.cluster;
        similarities[i] = best.similarity;
    }
}

// Squared lengths of 16 neighbouring columns of a matrix; floats add up in short runs, the runs in double.
XTRELLIS_CLONES void squares(const float* matrix, std::size_t rows, std::size_t stride, double* out) {
    constexpr std::size_t run = 256;
    for (std::size_t begin = 0; begin < rows; begin += run) {
        L::Floats sum = {};
        for (std::size_t r = begin; r < std::min(rows, begin + run); ++r) {
            const L::Floats x = L::load(matrix + r * stride);
            sum += x * x;
        }
        for (Id l = 0; l < KMeans::lanes; ++l) out[l] += sum[l];
    }
}

}  // namespace

KMeans::KMeans(const Csr& vectors, std::span<const Id> members, Id k, std::uint64_t key, ColumnMap& scratch)
    : v_(compact(vectors, members, scratch)), k_(k), stride_((static_cast<std::size_t>(k) + lanes - 1) / lanes * lanes),
      sums_(static_cast<std::size_t>(v_.width()) * stride_, 0.0f), scale_(stride_, 0.0f),
      floor_(stride_, -std::numeric_limits<float>::infinity()), length_(stride_, 0.0), clusters_(members.size(), -1),
      old_(members.size(), -1), similarity_(members.size(), 0.0f) {
    std::vector<std::uint32_t> order(members.size());
    std::iota(order.begin(), order.end(), 0u);
    Rng rng(key);
    for (std::size_t c = 0; c < static_cast<std::size_t>(k); ++c) {
        std::swap(order[c], order[c + rng.below(static_cast<std::uint32_t>(order.size() - c))]);
        const SparseRow x = v_[order[c]];
        double square = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            sums_[static_cast<std::size_t>(x.ids[i]) * stride_ + c] = x.values[i];
            square += static_cast<double>(x.values[i]) * x.values[i];
        }
        scale_[c] = static_cast<float>(square > 0 ? 1 / std::sqrt(square) : 0);
        floor_[c] = 0;
    }
}

void KMeans::assign(std::size_t first, std::size_t last) {
    assign_range(v_, {sums_.data(), scale_.data(), floor_.data(), stride_}, k_, first, last, clusters_.data(),
                 similarity_.data());
}

std::size_t KMeans::repair() {
    std::vector<std::uint32_t> sizes(static_cast<std::size_t>(k_), 0);
    for (const Id c : clusters_) ++sizes[static_cast<std::size_t>(c)];
    const auto empty = static_cast<std::size_t>(std::count(sizes.begin(), sizes.end(), 0u));
    if (empty > 0) {
        // Whoever is this close to its centre gains nothing by a cluster of its own: copies of a vector stay together.
        constexpr float perfect = 1 - 1e-5f;
        std::vector<std::uint32_t> worst;
        for (std::size_t i = 0; i < size(); ++i) {
            if (similarity_[i] < perfect) worst.push_back(static_cast<std::uint32_t>(i));
        }
        std::sort(worst.begin(), worst.end(), [&](std::uint32_t a, std::uint32_t b) {
            return similarity_[a] < similarity_[b] || (similarity_[a] == similarity_[b] && a < b);
        });
        Id next = 0;
        std::size_t filled = 0;
        for (const std::uint32_t i : worst) {
            if (filled == empty) break;
            auto& donor = sizes[static_cast<std::size_t>(clusters_[i])];
            if (donor < 2) continue;
            while (sizes[static_cast<std::size_t>(next)] > 0) ++next;
            --donor;
            clusters_[i] = next;
            sizes[static_cast<std::size_t>(next)] = 1;
            similarity_[i] = 1;
            ++filled;
        }
    }
    std::size_t moved = 0;
    for (std::size_t i = 0; i < size(); ++i) moved += clusters_[i] != old_[i];
    return moved;
}

void KMeans::update(Id group) {
    const Id begin = group * lanes, end = begin + lanes;
    const auto width = static_cast<std::size_t>(v_.width());
    if (!started_) {
        for (std::size_t f = 0; f < width; ++f) std::fill_n(sums_.data() + f * stride_ + begin, lanes, 0.0f);
    }
    const auto add = [&](const SparseRow& x, Id cluster, float sign) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            sums_[static_cast<std::size_t>(x.ids[i]) * stride_ + static_cast<std::size_t>(cluster)] +=
                sign * x.values[i];
        }
    };
    for (std::size_t i = 0; i < size(); ++i) {
        const Id now = clusters_[i], before = old_[i];
        if (now == before) continue;
        if (before >= begin && before < end) add(v_[i], before, -1.0f);
        if (now >= begin && now < end) add(v_[i], now, 1.0f);
    }
    double square[lanes] = {};
    squares(sums_.data() + begin, width, stride_, square);
    for (Id c = begin; c < std::min(end, k_); ++c) {
        // What is left after members came and went is rounding, not a direction.
        const double length = std::sqrt(square[c - begin]);
        const auto at = static_cast<std::size_t>(c);
        length_[at] = length > 1e-4 ? length : 0;
        scale_[at] = static_cast<float>(length > 1e-4 ? 1 / length : 0);
    }
}

double KMeans::objective() {
    started_ = true;
    old_ = clusters_;
    return std::accumulate(length_.begin(), length_.end(), 0.0);
}

double KMeans::run(int iterations, double tolerance) {
    double best = -1;
    for (int iteration = 0; iteration < iterations; ++iteration) {
        assign(0, size());
        if (repair() == 0) break;
        for (Id group = 0; group < groups(); ++group) update(group);
        const double now = objective();
        const bool done = now - best < tolerance * static_cast<double>(size());
        best = std::max(best, now);
        if (done) break;
    }
    return best;
}

}  // namespace xtrellis::cluster
