// The k best of a stream of (label, score): higher score first, then smaller label id (or rank, where labels have one).
#pragma once

#include <algorithm>
#include <cstddef>
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

// Keeps the best k. A few are kept in order, where a newcomer takes its place at once; of many, the worst one sits on
// top of a heap. O(log k) a better newcomer (O(k) of a few), O(1) otherwise.
class TopKHeap {
public:
    explicit TopKHeap(std::size_t k = 0) { reset(k); }
    void reset(std::size_t k, const Id* ranks = nullptr) {
        k_ = k;
        better_ = {ranks};
        heap_.clear();
    }
    bool full() const { return heap_.size() >= k_; }
    // What a newcomer must beat; only meaningful when full.
    const Scored& worst() const { return few() ? heap_.back() : heap_.front(); }
    void offer(Scored s) {
        if (!full()) {
            heap_.push_back(s);
            if (few()) settle(heap_.size() - 1, s);
            else std::push_heap(heap_.begin(), heap_.end(), better_);
        } else if (k_ > 0 && better_(s, worst())) {
            if (few()) return settle(k_ - 1, s);
            std::pop_heap(heap_.begin(), heap_.end(), better_);
            heap_.back() = s;
            std::push_heap(heap_.begin(), heap_.end(), better_);
        }
    }
    // For labels that may come more than once: the best of their scores counts. O(k).
    void offer_once(Scored s) {
        for (std::size_t i = 0; i < heap_.size(); ++i) {
            if (heap_[i].label != s.label) continue;
            if (s.score > heap_[i].score) {
                if (few()) return settle(i, s);
                heap_[i] = s;
                std::make_heap(heap_.begin(), heap_.end(), better_);
            }
            return;
        }
        offer(s);
    }
    // Best first; leaves the heap empty.
    template <class Write>
    void drain(Write write) {
        if (!few()) std::sort_heap(heap_.begin(), heap_.end(), better_);
        for (std::size_t i = 0; i < heap_.size(); ++i) write(i, heap_[i]);
        heap_.clear();
    }

private:
    bool few() const { return k_ <= 32; }
    // `s`, which is better than what stands at `place`, moves ahead of all it beats.
    void settle(std::size_t place, Scored s) {
        for (; place > 0 && better_(s, heap_[place - 1]); --place) heap_[place] = heap_[place - 1];
        heap_[place] = s;
    }

    std::size_t k_ = 0;
    Better better_;
    std::vector<Scored> heap_;
};

}  // namespace xtrellis
