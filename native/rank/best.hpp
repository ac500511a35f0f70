// The k best of each row's scored candidates, best first.
#pragma once

#include <algorithm>
#include <vector>

#include "core/topk.hpp"

namespace xtrellis::rank {

// Rows first .. last of n × width labels (-1: none) and scores, into n × k; -1 and 0 pad. k ≤ width.
inline void best(const Id* labels, const float* scores, Offset width, Offset first, Offset last, Offset k,
                 Id* out_labels, float* out_scores) {
    std::vector<Scored> found;
    for (Offset row = first; row < last; ++row) {
        found.clear();
        for (Offset j = row * width; j < (row + 1) * width; ++j) {
            if (labels[j] >= 0) found.push_back({scores[j], labels[j]});
        }
        const auto kept = std::min(found.size(), static_cast<std::size_t>(k));
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), better);
        for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
            out_labels[static_cast<std::size_t>(row * k) + i] = i < kept ? found[i].label : -1;
            out_scores[static_cast<std::size_t>(row * k) + i] = i < kept ? found[i].score : 0.0f;
        }
    }
}

}  // namespace xtrellis::rank
