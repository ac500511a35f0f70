// The k best of a stream of (label, score): higher score first, then smaller label id.
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
    bool operator()(const Scored& a, const Scored& b) const {
        return a.score > b.score || (a.score == b.score && a.label < b.label);
    }
};
constexpr Better better;

// Keeps the best k; the worst kept one sits on top of the heap. O(log k) a better newcomer, O(1) otherwise.
class TopKHeap {
public:
    explicit TopKHeap(std::size_t k = 0) { reset(k); }
    void reset(std::size_t k) {
        k_ = k;
        heap_.clear();
    }
    bool full() const { return heap_.size() >= k_; }
    // What a newcomer must beat; only meaningful when full.
    const Scored& worst() const { return heap_.front(); }
    void offer(Scored s) {
        if (heap_.size() < k_) {
            heap_.push_back(s);
            std::push_heap(heap_.begin(), heap_.end(), better);
        } else if (k_ > 0 && better(s, heap_.front())) {
            std::pop_heap(heap_.begin(), heap_.end(), better);
            heap_.back() = s;
            std::push_heap(heap_.begin(), heap_.end(), better);
        }
    }
    // For labels that may come more than once: the best of their scores counts. O(k).
    void offer_once(Scored s) {
        for (std::size_t i = 0; i < heap_.size(); ++i) {
            if (heap_[i].label != s.label) continue;
            if (s.score > heap_[i].score) {
                heap_[i] = s;
                std::make_heap(heap_.begin(), heap_.end(), better);
            }
            return;
        }
        offer(s);
    }
    // Best first; leaves the heap empty.
    template <class Write>
    void drain(Write write) {
        std::sort_heap(heap_.begin(), heap_.end(), better);
        for (std::size_t i = 0; i < heap_.size(); ++i) write(i, heap_[i]);
        heap_.clear();
    }

private:
    std::size_t k_ = 0;
    std::vector<Scored> heap_;
};

}  // namespace xtrellis
