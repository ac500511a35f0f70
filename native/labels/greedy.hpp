// Greedy cover: the label that is most frequent among the rows not yet served takes them all, until none is left.
//
// A heap whose entries may be out of date: frequencies only fall, so an entry that still tells the truth when it comes
// to the top is the largest; a stale one goes back with its present value. Every row is served once and then takes its
// weight off all its labels: O(non-zeros + re-entries · log L), and labels that lost everything never come back.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis::labels {

// Offsets and ids of a sparse pattern.
struct Lists {
    const Offset* offsets;
    const Id* ids;
    std::span<const Id> operator[](std::size_t i) const {
        return {ids + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

// `frequency` (the weight of each label's rows) is used up; `served` receives the weight of the rows each label took.
// Of equally frequent labels the smaller id comes first.
inline void greedy_cover(const Lists& labels_of, const Lists& rows_of, std::span<const double> weights,
                         std::span<double> frequency, std::span<double> served) {
    using Entry = std::pair<double, Id>;
    const auto later = [](const Entry& a, const Entry& b) {
        return a.first < b.first || (a.first == b.first && a.second > b.second);
    };
    std::vector<Entry> heap;
    heap.reserve(frequency.size());
    for (std::size_t l = 0; l < frequency.size(); ++l) {
        if (frequency[l] > 0) heap.emplace_back(frequency[l], static_cast<Id>(l));
    }
    std::make_heap(heap.begin(), heap.end(), later);
    std::vector<char> gone(weights.size(), 0);
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), later);
        const auto [claimed, label] = heap.back();
        const auto l = static_cast<std::size_t>(label);
        if (claimed != frequency[l]) {
            heap.back().first = frequency[l];
            if (frequency[l] > 0) {
                std::push_heap(heap.begin(), heap.end(), later);
            } else {
                heap.pop_back();
            }
            continue;
        }
        heap.pop_back();
        for (const Id row : rows_of[l]) {
            const auto r = static_cast<std::size_t>(row);
            if (gone[r]) continue;
            gone[r] = 1;
            served[l] += weights[r];
            for (const Id other : labels_of[r]) frequency[static_cast<std::size_t>(other)] -= weights[r];
        }
    }
}

}  // namespace xtrellis::labels
