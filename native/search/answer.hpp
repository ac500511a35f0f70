// What one query has found, and what becomes of a label that sits in several places: the best of its scores counts, or
// their mean.
//
// A mean is known only when all places that search reaches have been seen, so nothing may be forgotten on the way; but
// few labels are worth averaging. With c places a label at most, the best k·c places belong to at least k labels, and a
// label's mean is at least 1/c of its best place. So no label whose best place is below 1/c of the (k·c)-th best place
// can be among the best k: for the others, a few dozen, the scores of all places reached are looked up again.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/topk.hpp"
#include "search/model.hpp"

namespace xtrellis::search {

using Scores = std::vector<float>;

class Answer {
public:
    void begin(const Model& m, Id k) {
        k_ = static_cast<std::size_t>(k);
        copies_ = m.copies;
        heap_.reset(copies_ == Copies::mean ? k_ * static_cast<std::size_t>(m.most_copies) : k_);
        // The second term covers rounding: a candidate too many costs nothing.
        margin_ = copies_ == Copies::mean ? std::log(static_cast<float>(m.most_copies)) + 1e-3f : 0.0f;
        spans_.clear();
    }

    bool by_mean() const { return copies_ == Copies::mean; }

    // True if nothing below a node of this score can be among the best: scores never grow along a path.
    bool beaten(float score) const { return heap_.full() && score < heap_.worst().score - margin_; }

    // The same for search by beam. A mean is over all places in the beam: none is passed over, whatever comes first.
    bool hopeless(float score) const { return !by_mean() && beaten(score); }

    void offer(Scored s) {
        if (copies_ == Copies::none) return heap_.offer(s);
        if (beaten(s.score)) return;
        if (copies_ == Copies::best) return heap_.offer_once(s);
        heap_.offer(s);
    }

    // For means: the scores of the slots first .. first + size go to `all`, which the queries of a batch share. Closed
    // slots are not numbers.
    void keep(Offset first, Offset size, const float* scores, Scores& all) {
        spans_.push_back({first, size, all.size()});
        all.insert(all.end(), scores, scores + size);
    }

    // The score of a slot that was kept, or null.
    const float* kept(Offset slot, const Scores& all) const {
        for (const Span& s : spans_) {
            if (slot >= s.first && slot < s.first + s.size) return all.data() + s.at + (slot - s.first);
        }
        return nullptr;
    }

    // Labels whose mean may be among the best k, ascending.
    void candidates(const Model& m, const Scores& all, std::vector<Id>& labels) const {
        const float floor = heap_.full() && k_ > 0 ? heap_.worst().score - margin_ : -INFINITY;
        labels.clear();
        for (const Span& s : spans_) {
            const float* scores = all.data() + s.at;
            const Id* children = m.tree.children + s.first;
            for (Offset c = 0; c < s.size; ++c) {
                if (scores[c] >= floor && children[c] < 0) labels.push_back(~children[c]);
            }
        }
        std::sort(labels.begin(), labels.end());
        labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    }

    // The best k; pads with label -1 and score 0.
    void write(const Model& m, const Scores& all, Id k, Id* labels, float* scores) {
        std::fill(labels, labels + k, -1);
        std::fill(scores, scores + k, 0.0f);
        if (by_mean()) {
            thread_local std::vector<Id> worth;
            candidates(m, all, worth);
            heap_.reset(k_);
            for (const Id label : worth) heap_.offer({mean(m, label, all), label});
        }
        heap_.drain([&](std::size_t i, const Scored& s) {
            labels[i] = s.label;
            scores[i] = std::exp(s.score);
        });
    }

private:
    struct Span {
        Offset first, size;
        std::size_t at;
    };

    // The logarithm of the mean score of a label's kept places, in the order of the slots: the same bits whoever asks.
    float mean(const Model& m, Id label, const Scores& all) const {
        float best = -INFINITY, sum = 0;
        int count = 0;
        const Offset begin = m.places.label_offsets[label], end = m.places.label_offsets[label + 1];
        for (Offset c = begin; c < end; ++c) {
            if (const float* score = kept(m.places.label_slots[c], all)) best = std::max(best, *score);
        }
        if (best == -INFINITY) return best;
        for (Offset c = begin; c < end; ++c) {
            const float* score = kept(m.places.label_slots[c], all);
            if (!score) continue;
            sum += std::exp(*score - best);
            ++count;
        }
        return count == 1 ? best : best + std::log(sum / static_cast<float>(count));
    }

    std::size_t k_ = 0;
    Copies copies_ = Copies::none;
    float margin_ = 0;
    TopKHeap heap_;  // labels; for means, places
    std::vector<Span> spans_;
};

}  // namespace xtrellis::search
