// The k best of a stream of (label, score): higher score first, then smaller label id (or rank, where labels have one).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis {

struct Scored {
    float score;
    Id label;
};

// True if a is a better answer than b. A total order for distinct labels, so results never depend on arrival order.
// An object, not a function: the standard algorithms inline it.
struct Better {
    const Id* ranks = nullptr;  // labels of equal scores: the one with the smaller rank is better; null: by their ids
    bool operator()(const Scored& a, const Scored& b) const {
        if (a.score != b.score) return a.score > b.score;
        return ranks ? ranks[a.label] < ranks[b.label] : a.label < b.label;
    }
};
constexpr Better better;

// Keeps the best k. A few are kept in order, where a newcomer takes its place at once. Many are kept as they come, with
// room for half as many more: when that is used up, the best k of all stay. O(1) an answer, O(k) a better one of a few.
class TopKHeap {
public:
    explicit TopKHeap(std::size_t k = 0) { reset(k); }
    void reset(std::size_t k, const Id* ranks = nullptr) {
        k_ = k;
        room_ = k + k / 2;
        full_ = k == 0;
        repeats_ = false;
        better_ = {ranks};
        kept_.clear();
    }
    bool full() const { return full_; }
    // What a newcomer must beat; only meaningful when full. Of many, it rises when the best of them are chosen.
    const Scored& worst() const { return worst_; }
    void offer(Scored s) {
        if (full_ && (k_ == 0 || !better_(s, worst_))) return;
        if (s.score != s.score) s.score = -std::numeric_limits<float>::infinity();  // not a number: after all others
        if (few()) return place(s);
        kept_.push_back(s);
        if (kept_.size() >= (full_ || repeats_ ? room_ : k_)) choose();
    }
    // For labels that may come more than once: the best of their scores counts. O(k) of a few.
    void offer_once(Scored s) {
        repeats_ = true;
        if (!few()) return offer(s);
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            if (kept_[i].label != s.label) continue;
            if (s.score > kept_[i].score) settle(i, s);
            return;
        }
        offer(s);
    }
    // Of many that are kept: the best k, each label once.
    void choose() {
        if (few()) return;
        if (repeats_) join();
        if (kept_.size() < k_) return;
        const auto last = kept_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
        if (kept_.size() > k_) std::nth_element(kept_.begin(), last, kept_.end(), better_);
        else std::iter_swap(last, std::max_element(kept_.begin(), kept_.end(), better_));  // the last in order
        kept_.resize(k_);
        worst_ = kept_.back();
        full_ = true;
    }
    // Best first; leaves nothing.
    template <class Write>
    void drain(Write write) {
        choose();
        if (!few()) std::sort(kept_.begin(), kept_.end(), better_);
        for (std::size_t i = 0; i < kept_.size(); ++i) write(i, kept_[i]);
        reset(k_, better_.ranks);
    }

private:
    bool few() const { return k_ <= 64; }
    void place(Scored s) {
        if (!full_) kept_.push_back(s);
        settle(kept_.size() - 1, s);
        full_ = kept_.size() == k_;
    }
    // `s`, which is better than what stands at `place`, moves ahead of all it beats.
    void settle(std::size_t place, Scored s) {
        for (; place > 0 && better_(s, kept_[place - 1]); --place) kept_[place] = kept_[place - 1];
        kept_[place] = s;
        worst_ = kept_.back();
    }
    // Labels that were kept more than once, by their best scores.
    void join() {
        static thread_local std::vector<std::uint32_t> slots;  // one more than where a label is kept; 0: nobody
        slots.assign(std::bit_ceil(2 * kept_.size()), 0);
        const std::size_t mask = slots.size() - 1;
        std::size_t n = 0;
        for (const Scored s : kept_) {
            std::size_t at = (static_cast<std::uint32_t>(s.label) * 2654435769u >> 7) & mask;
            while (slots[at] && kept_[slots[at] - 1].label != s.label) at = (at + 1) & mask;
            if (!slots[at]) {
                kept_[n++] = s;
                slots[at] = static_cast<std::uint32_t>(n);
            } else if (Scored& before = kept_[slots[at] - 1]; s.score > before.score) {
                before.score = s.score;
            }
        }
        kept_.resize(n);
    }

    std::size_t k_ = 0, room_ = 0;
    bool full_ = true, repeats_ = false;
    Better better_;
    Scored worst_{0, 0};
    std::vector<Scored> kept_;
};

}  // namespace xtrellis
