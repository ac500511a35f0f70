// A trained block: the pruned weights of up to 256 children of one node, stored by feature, ready for search.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/radix.hpp"
#include "linear/problem.hpp"

namespace xtrellis::linear {

constexpr int max_block = 256;  // a child's place in its block is one byte

struct Block {
    std::vector<Id> features;            // global ids, ascending
    std::vector<std::uint32_t> starts;   // features + 1: where each feature's entries begin
    std::vector<std::uint8_t> children;  // entries of a feature: ascending child, weight beside it
    std::vector<float> weights;
    std::vector<float> biases;            // one a child, never pruned
    std::vector<std::int32_t> epochs;     // one a child: how long its group took
    std::vector<std::uint8_t> converged;  // one a child: 0 if the epochs were used up before
};

struct Pruning {
    float threshold = 0.1f;  // smaller absolute weights are dropped
    Id max_weights = 0;      // at most so many a child, the largest; 0 means no limit
};

// Collects one group of lanes after another; entries are sorted by feature at the end.
class BlockBuilder {
public:
    BlockBuilder(const Problem& problem, Pruning pruning) : problem_(problem), pruning_(pruning) {}

    // `weights` is width × stride, of which the first `lanes` are real; they become the children from `first` on.
    void add(const float* weights, int stride, int first, int lanes) {
        float floors[64];
        for (int l = 0; l < lanes; ++l) floors[l] = floor(weights + l, stride);
        for (Id f = 0; f < problem_.width(); ++f) {
            const float* w = weights + static_cast<std::size_t>(f) * stride;
            for (int l = 0; l < lanes; ++l) {
                if (std::fabs(w[l]) >= floors[l] && w[l] != 0) {
                    keep({f, static_cast<std::uint8_t>(first + l), w[l]});
                }
            }
        }
    }

    Block finish(std::vector<float>&& biases) {
        // Groups arrive in order of children and each is in order of local features: a counting sort by global
        // feature keeps the children of a feature ascending.
        const auto width = static_cast<std::size_t>(problem_.width());
        std::vector<std::uint32_t> rank(width), count(width, 0);
        for (const auto& run : runs_)
            for (const Entry& e : run) ++count[e.feature];
        std::vector<std::uint32_t> kept, ids;  // local features that have entries, and what they are called outside
        std::uint32_t all_bits = 0;
        for (std::size_t local = 0; local < width; ++local) {
            if (count[local] == 0) continue;
            kept.push_back(static_cast<std::uint32_t>(local));
            ids.push_back(static_cast<std::uint32_t>(problem_.x.columns[local]));
            all_bits |= ids.back();
        }
        Block block;
        // Exact sizes: finished blocks wait in memory by the thousand, and doubling would leave half of it unused.
        block.features.reserve(kept.size());
        block.starts.reserve(kept.size() + 1);
        block.starts.push_back(0);
        std::uint32_t total = 0;
        for (const std::uint32_t place : sorted_places(ids, static_cast<int>(std::bit_width(all_bits)))) {
            const std::uint32_t local = kept[place];
            rank[local] = total;
            total += count[local];
            block.features.push_back(static_cast<Id>(ids[place]));
            block.starts.push_back(total);
        }
        block.children.resize(total);
        block.weights.resize(total);
        for (const auto& run : runs_) {
            for (const Entry& e : run) {
                const auto at = rank[e.feature]++;
                block.children[at] = e.child;
                block.weights[at] = e.weight;
            }
        }
        block.biases = std::move(biases);
        return block;
    }

private:
    struct Entry {
        Id feature;
        std::uint8_t child;
        float weight;
    };

    // In runs of fixed length: one long array would be there twice whenever it grows.
    void keep(Entry entry) {
        constexpr std::size_t length = std::size_t{1} << 14;
        if (runs_.empty() || runs_.back().size() == length) {
            runs_.emplace_back();
            if (runs_.size() > 1) runs_.back().reserve(length);
        }
        runs_.back().push_back(entry);
    }

    // The smallest absolute weight a child keeps.
    float floor(const float* weights, int stride) {
        const auto limit = static_cast<std::size_t>(pruning_.max_weights);
        if (limit == 0 || limit >= static_cast<std::size_t>(problem_.width())) return pruning_.threshold;
        sizes_.clear();
        for (Id f = 0; f < problem_.width(); ++f) {
            const float size = std::fabs(weights[static_cast<std::size_t>(f) * stride]);
            if (size >= pruning_.threshold && size > 0) sizes_.push_back(size);
        }
        if (sizes_.size() <= limit) return pruning_.threshold;
        // Ties at the limit are all dropped rather than some by chance: the limit holds.
        std::nth_element(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(limit), sizes_.end(),
                         std::greater<float>());
        return std::nextafter(sizes_[limit], INFINITY);
    }

    const Problem& problem_;
    Pruning pruning_;
    std::vector<std::vector<Entry>> runs_;
    std::vector<float> sizes_;
};

}  // namespace xtrellis::linear
