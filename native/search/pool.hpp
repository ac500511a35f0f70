// The answers of several trees to a row become one list: each label once, with the scores that trees gave it.
//
// Of a label that a tree did not give it is known only that it scores no more than the tree's last answer. Labels that
// cannot be among the best k by the mean even so are left out (the threshold algorithm of Fagin, Lotem, Naor 2003).
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "core/topk.hpp"

namespace xtrellis::search {

struct Pool {
    std::vector<Offset> offsets;  // rows + 1: where each row's labels begin
    std::vector<Id> labels;       // ascending in a row
    std::vector<float> scores;    // labels × trees; NaN where a tree did not give the label
    std::vector<float> unseen;    // of each row: the sum of scores that a label which no tree gave can reach
};

// Rows first .. last of trees × rows × width answers, best first, -1 behind them.
inline Pool pool(const Id* labels, const float* scores, Offset trees, Offset rows, Offset width, Offset first,
                 Offset last, Offset k) {
    struct Given {
        Id label;
        Id tree;
        float score;
    };
    const auto n_trees = static_cast<std::size_t>(trees);
    constexpr float nothing = std::numeric_limits<float>::quiet_NaN();
    Pool out;
    out.offsets.push_back(0);
    std::vector<Given> given;
    std::vector<Id> ids;
    std::vector<float> floors(n_trees), table, at_least, at_most, ordered;
    for (Offset row = first; row < last; ++row) {
        given.clear();
        float unseen = 0;
        for (Offset t = 0; t < trees; ++t) {
            const Id* own = labels + (t * rows + row) * width;
            const float* worth = scores + (t * rows + row) * width;
            float& lowest = floors[static_cast<std::size_t>(t)] = std::numeric_limits<float>::infinity();
            Offset n = 0;
            for (; n < width && own[n] >= 0; ++n) {
                given.push_back({own[n], static_cast<Id>(t), worth[n]});
                lowest = std::min(lowest, worth[n]);
            }
            if (n == width && width > 0) unseen += lowest;  // a list that is not full holds all there is
        }
        out.unseen.push_back(unseen);
        std::sort(given.begin(), given.end(), [](const Given& a, const Given& b) { return a.label < b.label; });
        ids.clear();
        table.clear();
        for (const Given& g : given) {
            if (ids.empty() || ids.back() != g.label) {
                ids.push_back(g.label);
                table.resize(table.size() + n_trees, nothing);
            }
            table[(ids.size() - 1) * n_trees + static_cast<std::size_t>(g.tree)] = g.score;
        }
        at_least.assign(ids.size(), 0.0f);
        at_most.assign(ids.size(), 0.0f);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            for (std::size_t t = 0; t < n_trees; ++t) {
                const float score = table[i * n_trees + t];
                const bool known = score == score;
                at_least[i] += known ? score : 0.0f;
                at_most[i] += known ? score : floors[t];
            }
        }
        float bar = 0;
        if (k > 0 && ids.size() >= static_cast<std::size_t>(k)) {
            ordered = at_least;
            const auto kth = ordered.begin() + (k - 1);
            std::nth_element(ordered.begin(), kth, ordered.end(), std::greater<float>());
            bar = *kth;
        }
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (at_most[i] < bar) continue;
            out.labels.push_back(ids[i]);
            out.scores.insert(out.scores.end(), table.begin() + static_cast<std::ptrdiff_t>(i * n_trees),
                              table.begin() + static_cast<std::ptrdiff_t>((i + 1) * n_trees));
        }
        out.offsets.push_back(static_cast<Offset>(out.labels.size()));
    }
    return out;
}

// The k best of each row's labels, best first; of equals the one with the smaller rank (null: id). -1 and 0 pad.
inline void best_of_pool(const Offset* offsets, const Id* labels, const float* scores, const Id* ranks, Offset first,
                         Offset last, Offset k, Id* out_labels, float* out_scores) {
    TopKHeap found;
    for (Offset row = first; row < last; ++row) {
        found.reset(static_cast<std::size_t>(k), ranks);
        for (Offset i = offsets[row]; i < offsets[row + 1]; ++i) found.offer({scores[i], labels[i]});
        const auto at = static_cast<std::size_t>(row * k);
        std::fill_n(out_labels + at, k, -1);
        std::fill_n(out_scores + at, k, 0.0f);
        found.drain([&](std::size_t i, const Scored& s) {
            out_labels[at + i] = s.label;
            out_scores[at + i] = s.score;
        });
    }
}

}  // namespace xtrellis::search
