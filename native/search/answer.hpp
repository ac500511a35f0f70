// What one query has found, and what becomes of a label that sits in several places: the best of its scores counts, or
// their mean.
//
// A mean is over the places that matter: those that score at least `faint` times the label's best one. So nodes that
// are far behind need not be looked at, and yet the answer does not depend on the order in which nodes are visited.
// With c places per label at most, a mean is at least (1 + (c − 1)·faint)/c of a label's best place. So no label whose
// best place is below that share of the k-th best label's is among the best k, and no place below `faint` times that
// changes the mean of one that is.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/topk.hpp"
#include "search/model.hpp"

namespace xtrellis::search {

constexpr float faint = 1.0f / 2;

// The logarithm of the mean of scores (logarithms, the best first), as far as they are not faint.
inline float mean_of_places(const Scored* begin, const Scored* end) {
    const float best = begin->score, least = best + std::log(faint);
    if (best == -INFINITY) return best;
    float sum = 0;
    const Scored* at = begin;
    for (; at < end && at->score >= least; ++at) sum += std::exp(at->score - best);
    return at - begin == 1 ? best : best + std::log(sum / static_cast<float>(at - begin));
}

class Answer {
public:
    void begin(const Model& m, Id k) {
        k_ = static_cast<std::size_t>(k);
        copies_ = m.copies;
        const bool mean = copies_ == Copies::mean;
        ranks_ = m.label_ranks;
        offsets_ = m.label_offsets;
        heap_.reset(k_, ranks_);
        const auto c = static_cast<float>(m.most_copies);
        // The last term covers rounding: a place too many costs nothing.
        margin_ = mean ? std::log(c / (1 + (c - 1) * faint)) - std::log(faint) + 1e-3f : 0.0f;
        places_.clear();
        limit_ = 1024;
        floor_ = k_ > 0 ? -INFINITY : INFINITY;
    }

    // True if nothing of this score, or below a node of it, can change the answer: scores never grow along a path.
    bool hopeless(float score) const { return score < floor_; }

    // What is below it can change nothing.
    float floor() const { return floor_; }

    void offer(Scored s) {
        if (offsets_) s.score += offsets_[s.label];
        if (hopeless(s.score)) return;
        if (copies_ == Copies::none) heap_.offer(s);
        else heap_.offer_once(s);
        if (heap_.full()) floor_ = heap_.worst().score - margin_;
        if (copies_ == Copies::mean) remember(s);
    }

    // The best k; pads with label -1 and score 0.
    void write(Id k, Id* labels, float* scores) {
        std::fill(labels, labels + k, -1);
        std::fill(scores, scores + k, 0.0f);
        if (copies_ == Copies::mean) average();
        heap_.drain([&](std::size_t i, const Scored& s) {
            labels[i] = s.label;
            scores[i] = std::exp(s.score);
        });
    }

private:
    void remember(Scored s) {
        places_.push_back(s);
        if (places_.size() < limit_) return;
        forget();
        limit_ = std::max(limit_, 2 * places_.size());
    }

    // Places that turned out to be of no use, once the heap is full of better ones.
    void forget() {
        std::erase_if(places_, [&](const Scored& s) { return hopeless(s.score); });
    }

    // From places to labels.
    void average() {
        forget();
        // By label, its best place first: sums come out alike whatever the order of visits was.
        std::sort(places_.begin(), places_.end(), [](const Scored& a, const Scored& b) {
            return a.label < b.label || (a.label == b.label && a.score > b.score);
        });
        heap_.reset(k_, ranks_);
        for (std::size_t begin = 0, end = 0; begin < places_.size(); begin = end) {
            const Id label = places_[begin].label;
            while (end < places_.size() && places_[end].label == label) ++end;
            heap_.offer({mean_of_places(places_.data() + begin, places_.data() + end), label});
        }
    }

    float floor_ = -INFINITY;
    float margin_ = 0;
    Copies copies_ = Copies::none;
    std::size_t k_ = 0;
    const Id* ranks_ = nullptr;
    const float* offsets_ = nullptr;
    TopKHeap heap_;  // labels by their best places; at the end, for means, by these
    std::vector<Scored> places_;
    std::size_t limit_ = 0;  // places at which to look which of them are still of use
};

}  // namespace xtrellis::search
