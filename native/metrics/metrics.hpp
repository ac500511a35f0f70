// What evaluation needs of a ranking, in one pass each over n×k predictions: is it sound, which entries are right,
// and what the best possible row would have been. Sums and means are left to NumPy.
//
// Answers per rank are written rank by rank (k×n, "rank-major"): the sums over ranks that follow are then sums of
// contiguous columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/csr.hpp"
#include "core/topk.hpp"

namespace xtrellis {

enum class Fault : int { none = 0, label_out_of_range = 1, not_a_number = 2, repeated_label = 3 };

struct RankingCheck {
    Fault fault = Fault::none;
    Offset row = -1;        // where the first fault is
    Id label = -1;          // the label at fault
    bool pads_last = true;  // in every row, all pads (-1) are at its end
};

inline bool repeats(const Id* labels, Offset k, std::vector<Id>& scratch, Id& which) {
    if (k <= 32) {  // quadratic is faster than sorting for the short rows that are usual
        for (Offset i = 1; i < k; ++i) {
            if (labels[i] < 0) continue;
            for (Offset j = 0; j < i; ++j) {
                if (labels[i] == labels[j]) {
                    which = labels[i];
                    return true;
                }
            }
        }
        return false;
    }
    scratch.assign(labels, labels + k);
    std::sort(scratch.begin(), scratch.end());
    for (std::size_t i = 1; i < scratch.size(); ++i) {
        if (scratch[i] >= 0 && scratch[i] == scratch[i - 1]) {
            which = scratch[i];
            return true;
        }
    }
    return false;
}

inline RankingCheck check_ranking(const Id* labels, const float* scores, Offset n, Offset k, Id n_labels) {
    RankingCheck out;
    std::vector<Id> scratch;
    for (Offset row = 0; row < n; ++row) {
        const Id* l = labels + row * k;
        const float* s = scores + row * k;
        for (Offset j = 0; j < k; ++j) {
            if (l[j] < -1 || l[j] >= n_labels) return {Fault::label_out_of_range, row, l[j], false};
            if (l[j] >= 0 && std::isnan(s[j])) return {Fault::not_a_number, row, l[j], false};
            if (j > 0 && l[j] >= 0) out.pads_last &= l[j - 1] >= 0;
        }
        Id which = -1;
        if (repeats(l, k, scratch, which)) return {Fault::repeated_label, row, which, false};
    }
    return out;
}

// out[j*n + row] = 1 if labels[row, j] is among the row's ids (ascending). Rows of labels are `stride` apart.
inline void mark_hits(const Offset* offsets, const Id* ids, const Id* labels, Offset n, Offset k, Offset stride,
                      std::uint8_t* out) {
    for (Offset row = 0; row < n; ++row) {
        const Id* begin = ids + offsets[row];
        const Id* end = ids + offsets[row + 1];
        const Id* l = labels + row * stride;
        for (Offset j = 0; j < k; ++j) {
            bool hit = false;
            if (end - begin <= 16) {
                for (const Id* p = begin; p != end; ++p) hit |= *p == l[j];
            } else {
                hit = std::binary_search(begin, end, l[j]);
            }
            out[j * n + row] = hit;
        }
    }
}

// out[j*n + row] = the j-th largest weight among the row's ids; 0 where the row has fewer.
inline void largest_weights(const Offset* offsets, const Id* ids, const double* weights, Offset n, Offset k,
                            double* out) {
    std::vector<double> best;
    for (Offset row = 0; row < n; ++row) {
        best.clear();
        for (Offset p = offsets[row]; p < offsets[row + 1]; ++p) best.push_back(weights[ids[p]]);
        const auto kept = std::min<std::size_t>(best.size(), static_cast<std::size_t>(k));
        std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept), best.end(), std::greater<>());
        for (Offset j = 0; j < k; ++j) {
            out[j * n + row] = static_cast<std::size_t>(j) < kept ? best[static_cast<std::size_t>(j)] : 0.0;
        }
    }
}

// The k best entries of each sparse row of scores: higher first, then smaller label id; -1 and 0 pad short rows.
// Compared in the precision given: rounding first would turn close scores into ties.
template <class Score>
void rank_rows(const Offset* offsets, const Id* ids, const Score* scores, Offset n, Offset k, Id* labels, float* out) {
    std::vector<Offset> order;
    for (Offset row = 0; row < n; ++row) {
        order.clear();
        for (Offset p = offsets[row]; p < offsets[row + 1]; ++p) order.push_back(p);
        const auto kept = std::min<std::size_t>(order.size(), static_cast<std::size_t>(k));
        std::partial_sort(
            order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
            [&](Offset a, Offset b) { return scores[a] > scores[b] || (scores[a] == scores[b] && ids[a] < ids[b]); });
        for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j) {
            labels[row * k + static_cast<Offset>(j)] = j < kept ? ids[order[j]] : -1;
            out[row * k + static_cast<Offset>(j)] = j < kept ? static_cast<float>(scores[order[j]]) : 0.0f;
        }
    }
}

}  // namespace xtrellis
