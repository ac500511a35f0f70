// The answers of several trees to one row become one: the k labels with the best mean score.
//
// Of a label that a tree did not give it is known only that it scores no more than the tree's last answer (a tree that
// is searched with a beam may have missed it: that is what a beam costs). A label that cannot be among the best k even
// so is left out (the threshold algorithm of Fagin, Lotem, Naor 2003); others are looked up in the trees that did not
// give them, the most promising ones first, as long as they can still be among the best k.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "core/topk.hpp"

namespace xtrellis::search {

template <class Sum>  // what scores are added in
class Join {
public:
    void begin(std::size_t trees, Id k, const Id* ranks) {
        trees_ = trees;
        k_ = static_cast<std::size_t>(k);
        given_.clear();
        floors_.clear();
        unseen_ = 0;
        best_.reset(k_, ranks);
    }

    // The next tree's answers, best first, -1 behind them.
    void add(const Id* labels, const float* scores, Offset width) {
        const auto tree = static_cast<std::uint32_t>(floors_.size());
        float lowest = std::numeric_limits<float>::infinity();
        Offset n = 0;
        for (; n < width && labels[n] >= 0; ++n) {
            given_.push_back({labels[n], tree, scores[n]});
            lowest = std::min(lowest, scores[n]);
        }
        if (n == width && width > 0) unseen_ += static_cast<Sum>(lowest);  // a list that is not full holds all there is
        floors_.push_back(lowest);
    }

    // `score(tree, label, least)` tells what a tree did not; less than `least` if it is less.
    template <class Score>
    void finish(Score&& score) {
        tabulate();
        float bar = least_of_best();
        for (const Candidate& c : order_) {
            if (best_.full()) bar = std::max(bar, best_.worst().score);
            if (value(c.at_most) < bar) break;
            float* scores = table_.data() + c.at * trees_;
            if (complete(scores, bar, [&](std::size_t tree, float least) { return score(tree, ids_[c.at], least); }))
                best_.offer({value(sum(scores)), ids_[c.at]});
        }
    }

    // The best k, and padding; what a label that no tree gave can reach.
    float write(Id* labels, float* scores) {
        std::fill_n(labels, k_, -1);
        std::fill_n(scores, k_, 0.0f);
        best_.drain([&](std::size_t i, const Scored& s) {
            labels[i] = s.label;
            scores[i] = s.score;
        });
        return value(unseen_);
    }

private:
    struct Given {
        Id label;
        std::uint32_t tree;
        float score;
    };
    struct Candidate {
        Sum at_most;
        std::size_t at;
    };
    float value(Sum sum) const { return static_cast<float>(sum / static_cast<Sum>(trees_)); }
    Sum sum(const float* scores) const {
        Sum total = 0;
        for (std::size_t t = 0; t < trees_; ++t) total += static_cast<Sum>(scores[t]);
        return total;
    }

    // Each label once, with what trees say of it (NaN: nothing), those first that can score the most.
    void tabulate() {
        std::sort(given_.begin(), given_.end(), [](const Given& a, const Given& b) { return a.label < b.label; });
        ids_.clear();
        table_.clear();
        for (const Given& g : given_) {
            if (ids_.empty() || ids_.back() != g.label) {
                ids_.push_back(g.label);
                table_.resize(table_.size() + trees_, std::numeric_limits<float>::quiet_NaN());
            }
            table_[(ids_.size() - 1) * trees_ + g.tree] = g.score;
        }
        order_.clear();
        at_least_.clear();
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            Sum least = 0, most = 0;
            for (std::size_t t = 0; t < trees_; ++t) {
                const float score = table_[i * trees_ + t];
                const bool known = score == score;
                least += known ? static_cast<Sum>(score) : 0;
                most += static_cast<Sum>(known ? score : floors_[t]);
            }
            at_least_.push_back(value(least));
            order_.push_back({most, i});
        }
        std::sort(order_.begin(), order_.end(), [](const Candidate& a, const Candidate& b) {
            return a.at_most > b.at_most || (a.at_most == b.at_most && a.at < b.at);
        });
    }

    // What the k-th best label scores at least.
    float least_of_best() {
        if (k_ == 0 || at_least_.size() < k_) return 0;
        const auto kth = at_least_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
        std::nth_element(at_least_.begin(), kth, at_least_.end(), std::greater<float>());
        return *kth;
    }

    // Asks for the scores that are not known. False if the label cannot reach the bar: the others are then not asked.
    template <class Score>
    bool complete(float* scores, float bar, Score&& score) {
        // What may be lost in rounding, all sums together, and more.
        const double n = static_cast<double>(trees_), enough = static_cast<double>(bar) * n * (1 - 1e-6 * n);
        for (std::size_t t = 0; t < trees_; ++t) {
            if (scores[t] == scores[t]) continue;
            double others = 0;
            for (std::size_t o = 0; o < trees_; ++o) {
                if (o != t) others += static_cast<double>(scores[o] == scores[o] ? scores[o] : floors_[o]);
            }
            const auto least = static_cast<float>(enough - others);
            scores[t] = score(t, least);
            if (scores[t] < least) return false;
        }
        return true;
    }

    std::size_t trees_ = 0, k_ = 0;
    std::vector<Given> given_;
    std::vector<float> floors_;  // of each tree: no label that it did not give scores more
    Sum unseen_ = 0;
    std::vector<Id> ids_;
    std::vector<float> table_, at_least_;  // labels × trees; one a label
    std::vector<Candidate> order_;
    TopKHeap best_;
};

}  // namespace xtrellis::search
