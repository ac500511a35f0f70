#include "neural/dots.hpp"

#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"
#include "core/topk.hpp"
#include "neural/tile.hpp"

namespace xtrellis::neural {
namespace {

template <int R, class Use>
XTRELLIS_INLINE void strip(const float* a, const float* b, Offset m, Offset dim, Use use) {
    Offset label = 0;
    for (; label + 4 <= m; label += 4) {
        float out[R][4];
        tile<R, 4>(a, b + label * dim, dim, out);
        for (int r = 0; r < R; ++r) {
            for (int c = 0; c < 4; ++c) use(r, label + c, out[r][c]);
        }
    }
    for (; label < m; ++label) {
        float out[R][1];
        tile<R, 1>(a, b + label * dim, dim, out);
        for (int r = 0; r < R; ++r) use(r, label, out[r][0]);
    }
}

// use(row, label, product) for all pairs; labels in blocks that stay in the cache while all rows pass by.
template <class Use>
XTRELLIS_INLINE void all_pairs(const float* a, Offset n, const float* b, Offset m, Offset dim, Use use) {
    const Offset block = std::max<Offset>(4, (Offset{1} << 16) / std::max<Offset>(dim, 1) / 4 * 4);
    for (Offset from = 0; from < m; from += block) {
        const Offset size = std::min(block, m - from);
        Offset row = 0;
        for (; row + 4 <= n; row += 4) {
            strip<4>(a + row * dim, b + from * dim, size, dim,
                     [&](int r, Offset c, float value)
                         __attribute__((always_inline)) { use(row + r, from + c, value); });
        }
        for (; row < n; ++row) {
            strip<1>(a + row * dim, b + from * dim, size, dim,
                     [&](int, Offset c, float value) __attribute__((always_inline)) { use(row, from + c, value); });
        }
    }
}

void write(TopKHeap& heap, Offset k, Id* found, float* scores) {
    std::fill(found, found + k, -1);
    std::fill(scores, scores + k, 0.0f);
    heap.drain([&](std::size_t i, const Scored& s) {
        found[i] = s.label;
        scores[i] = s.score;
    });
}

}  // namespace

XTRELLIS_CLONES void products(const float* a, Offset n, const float* b, Offset m, Offset dim, float* out) {
    all_pairs(a, n, b, m, dim, [&](Offset row, Offset column, float value) __attribute__((always_inline)) {
        out[row * m + column] = value;
    });
}

XTRELLIS_CLONES void best_of_all(const float* queries, Offset n, const float* vectors, Offset labels, Offset dim,
                                 Offset k, Id* found, float* scores) {
    constexpr Offset together = 64;
    std::vector<TopKHeap> heaps(static_cast<std::size_t>(std::min(n, together)));
    std::vector<float> worst(heaps.size());  // what a newcomer must reach; labels come in ascending order
    for (Offset first = 0; first < n; first += together) {
        const Offset size = std::min(together, n - first);
        for (auto& heap : heaps) heap.reset(static_cast<std::size_t>(k));
        std::fill(worst.begin(), worst.end(), -3.4e38f);
        all_pairs(queries + first * dim, size, vectors, labels, dim,
                  [&](Offset row, Offset label, float value) __attribute__((always_inline)) {
                      const auto r = static_cast<std::size_t>(row);
                      if (value <= worst[r]) [[likely]] {
                          return;
                      }
                      heaps[r].offer({value, static_cast<Id>(label)});
                      if (heaps[r].full()) worst[r] = heaps[r].worst().score;
                  });
        for (Offset r = 0; r < size; ++r) {
            write(heaps[static_cast<std::size_t>(r)], k, found + (first + r) * k, scores + (first + r) * k);
        }
    }
}

}  // namespace xtrellis::neural
