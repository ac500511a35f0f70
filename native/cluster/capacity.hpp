// Which labels get into clusters of limited size, given what every pair (label, cluster) is worth at the present
// prices.
//
// Two closed loops of index/capacity.py: what labels would like, each for itself, and what they get if pairs are taken
// one by one, the best first, as long as both sides have room. The prices themselves stay in Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis::cluster {

// Positions of the `copies` pairs of each label that are worth most, as far as they are worth anything; of equal ones
// the first. O(pairs × copies).
inline std::vector<Offset> wanted_pairs(const Offset* offsets, Offset labels, const double* worth, Id copies) {
    std::vector<Offset> out;
    std::vector<Offset> best;  // of one label, the best first
    for (Offset label = 0; label < labels; ++label) {
        best.clear();
        for (Offset i = offsets[label]; i < offsets[label + 1]; ++i) {
            if (!(worth[i] > 0)) continue;
            if (best.size() == static_cast<std::size_t>(copies)) {
                if (worth[i] <= worth[best.back()]) continue;
                best.pop_back();
            }
            best.insert(
                std::upper_bound(best.begin(), best.end(), i, [&](Offset a, Offset b) { return worth[a] > worth[b]; }),
                i);
        }
        out.insert(out.end(), best.begin(), best.end());
    }
    return out;
}

// Positions of the pairs that are taken, ascending: in the order of their worth (of equal ones the first), each label
// up to `copies` times, each cluster as often as it has `room` (which is used up). O(pairs log pairs).
inline std::vector<Offset> take_pairs(const Offset* offsets, Offset labels, const Id* clusters, const double* worth,
                                      Id copies, std::vector<Offset> room) {
    struct Pair {
        double worth;
        std::uint32_t position;  // enough: a label wishes for at most 255 clusters
        Id label;
    };
    std::vector<Pair> pairs;
    pairs.reserve(static_cast<std::size_t>(offsets[labels] - offsets[0]));
    for (Offset label = 0; label < labels; ++label)
        for (Offset i = offsets[label]; i < offsets[label + 1]; ++i)
            pairs.push_back({worth[i], static_cast<std::uint32_t>(i), static_cast<Id>(label)});
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
        return a.worth != b.worth ? a.worth > b.worth : a.position < b.position;
    });
    std::vector<Id> places(static_cast<std::size_t>(labels), copies);
    std::vector<Offset> out;
    for (const Pair& pair : pairs) {
        Id& left = places[static_cast<std::size_t>(pair.label)];
        Offset& free = room[static_cast<std::size_t>(clusters[pair.position])];
        if (left == 0 || free <= 0) continue;
        --left, --free;
        out.push_back(static_cast<Offset>(pair.position));
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace xtrellis::cluster
