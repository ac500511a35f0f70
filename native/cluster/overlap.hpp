// Which clusters a label should sit in: the λ that hold most of its rows (Liu et al. 2021, Theorem 2).
//
// (YᵀM)_lk counts the rows of label l whose beam holds cluster k. M has a handful of entries a row, so a label's counts
// are sums over its rows' beams, in an array as long as there are clusters of which only what was touched is looked at:
// O(rows × beam) a label, nothing is ever n × L or L × K.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis::cluster {

// Row i's beam holds the clusters ids[offsets[i] .. offsets[i+1]) with these weights.
struct Matches {
    const Offset* offsets;
    const Id* ids;
    const float* weights;
    Id clusters;
};

struct Counts {
    std::vector<Offset> offsets{0};  // labels + 1
    std::vector<Id> clusters;        // best first
    std::vector<std::int32_t> counts;
};

// The clusters with the largest counts of the labels first .. last, at most `most` each, best first. Equal counts fall
// to a cluster that the label sits in already, then to the larger sum of weights, then to the smaller number: a rare
// label's rows hold many clusters equally often, and by number alone they would all crowd into the first ones.
inline Counts best_clusters(const Offset* label_offsets, const Id* label_rows, const Matches& matches,
                            const Offset* home_offsets, const Id* homes, Offset first, Offset last, Id most) {
    struct Sum {
        std::int32_t count = 0;
        bool home = false;
        double weight = 0;
    };
    std::vector<Sum> sums(static_cast<std::size_t>(matches.clusters));
    std::vector<Id> touched;
    Counts out;
    for (Offset label = first; label < last; ++label) {
        touched.clear();
        for (Offset i = label_offsets[label]; i < label_offsets[label + 1]; ++i) {
            const Id row = label_rows[i];
            for (Offset j = matches.offsets[row]; j < matches.offsets[row + 1]; ++j) {
                Sum& sum = sums[static_cast<std::size_t>(matches.ids[j])];
                if (sum.count++ == 0) touched.push_back(matches.ids[j]);
                sum.weight += matches.weights[j];
            }
        }
        for (Offset h = home_offsets[label]; h < home_offsets[label + 1]; ++h)
            sums[static_cast<std::size_t>(homes[h])].home = true;
        const auto before = [&](Id a, Id b) {
            const Sum &x = sums[static_cast<std::size_t>(a)], &y = sums[static_cast<std::size_t>(b)];
            if (x.count != y.count) return x.count > y.count;
            if (x.home != y.home) return x.home;
            if (x.weight != y.weight) return x.weight > y.weight;
            return a < b;
        };
        const auto keep = std::min(touched.size(), static_cast<std::size_t>(most));
        std::partial_sort(touched.begin(), touched.begin() + static_cast<std::ptrdiff_t>(keep), touched.end(), before);
        for (std::size_t i = 0; i < keep; ++i) {
            out.clusters.push_back(touched[i]);
            out.counts.push_back(sums[static_cast<std::size_t>(touched[i])].count);
        }
        out.offsets.push_back(static_cast<Offset>(out.clusters.size()));
        for (const Id k : touched) sums[static_cast<std::size_t>(k)] = {};
        for (Offset h = home_offsets[label]; h < home_offsets[label + 1]; ++h)
            sums[static_cast<std::size_t>(homes[h])] = {};
    }
    return out;
}

// Pairs (row, label) of Y for which the row's beam holds some cluster of the label: Tr(Yᵀ Binary(M Cᵀ)). `members` are
// the clusters of each label, in any order. O(labels of a row × clusters of a label), with one stamp a cluster.
inline Offset covered_pairs(const Offset* y_offsets, const Id* y_ids, const Matches& matches,
                            const Offset* member_offsets, const Id* members, Offset first, Offset last) {
    std::vector<Offset> stamp(static_cast<std::size_t>(matches.clusters), -1);
    Offset covered = 0;
    for (Offset row = first; row < last; ++row) {
        for (Offset j = matches.offsets[row]; j < matches.offsets[row + 1]; ++j)
            stamp[static_cast<std::size_t>(matches.ids[j])] = row;
        for (Offset i = y_offsets[row]; i < y_offsets[row + 1]; ++i) {
            const Id* begin = members + member_offsets[y_ids[i]];
            const Id* end = members + member_offsets[y_ids[i] + 1];
            covered += std::any_of(begin, end, [&](Id k) { return stamp[static_cast<std::size_t>(k)] == row; });
        }
    }
    return covered;
}

}  // namespace xtrellis::cluster
