#include <vector>

#include "core/dispatch.hpp"
#include "search/searches.hpp"

namespace xtrellis::search {
namespace {

struct Reached {
    float score;
    Id node;
    Id depth;
};

// The better node comes out of the queue first; equal ones in the order of their numbers.
bool later(const Reached& a, const Reached& b) { return a.score < b.score || (a.score == b.score && a.node > b.node); }

// `look(node, score, sift)` hands the scores below a node to `sift(first slot, size, scores)`, in pieces.
template <class Look>
XTRELLIS_INLINE Offset walk(const Model& m, const std::vector<std::uint32_t>& scattered, const Request& request,
                            Id* labels, float* scores, Look&& look) {
    thread_local std::vector<Reached> queue;
    thread_local std::vector<Id> expanded;  // nodes of each depth, for the beam
    thread_local Answer answer;
    answer.begin(m, request.k);
    queue.assign(1, {0.0f, 0, 0});
    expanded.clear();
    Offset nodes = 0;
    while (!queue.empty()) {
        std::pop_heap(queue.begin(), queue.end(), later);
        const Reached best = queue.back();
        queue.pop_back();
        if (answer.hopeless(best.score - request.slack)) break;
        if (request.beam > 0) {
            if (static_cast<std::size_t>(best.depth) >= expanded.size())
                expanded.resize(static_cast<std::size_t>(best.depth) + 1, 0);
            if (expanded[static_cast<std::size_t>(best.depth)]++ >= request.beam) continue;
        }
        ++nodes;
        if (!queue.empty()) ask_for(m.weights, queue.front().node, scattered);
        look(best.node, best.score, [&](Offset slot, Offset size, const float* found) XTRELLIS_INLINED {
            sift(
                m, request, slot, size, found, answer,
                [&]() XTRELLIS_INLINED { return request.slack > 0 ? -INFINITY : answer.floor(); },
                [&](Scored s) {
                    queue.push_back({s.score, s.label, best.depth + 1});
                    std::push_heap(queue.begin(), queue.end(), later);
                });
        });
    }
    answer.write(request.k, labels, scores);
    return nodes;
}

template <class Value>
XTRELLIS_INLINE Offset search_once(const Model& m, const SparseRow& x, const Request& request, Id* labels,
                                   float* scores) {
    thread_local std::vector<std::uint32_t> scattered;
    scatter_all(x, m.weights.bits, scattered);
    float margins[max_block] = {};
    return walk(m, scattered, request, labels, scores, [&](Id node, float score, auto&& use) XTRELLIS_INLINED {
        evaluate<Value>(m, node, x, scattered, margins, [&](Offset slot, Offset size) XTRELLIS_INLINED {
            to_scores(m.transform, score, size, margins);
            use(slot, size, margins);
        });
    });
}

template <class Value>
XTRELLIS_INLINE void search_again(const Model& m, const SparseRow& x, const Request& request, Id* labels, float* scores,
                                  Seen& seen) {
    walk(m, seen.scattered(), request, labels, scores, [&](Id node, float score, auto&& use) XTRELLIS_INLINED {
        const float* found = seen.find(node);
        if (!found) found = seen.look<Value>(m, x, node, score);
        use(m.tree.offsets[node], m.tree.offsets[node + 1] - m.tree.offsets[node], found);
    });
}

}  // namespace

XTRELLIS_CLONES Offset best_first(const Model& m, const SparseRow& x, const Request& request, Id* labels,
                                  float* scores) {
    switch (m.weights.storage) {
        case Storage::float16: return search_once<Half>(m, x, request, labels, scores);
        case Storage::int8: return search_once<std::int8_t>(m, x, request, labels, scores);
        default: return search_once<float>(m, x, request, labels, scores);
    }
}

XTRELLIS_CLONES void best_first_seen(const Model& m, const SparseRow& x, const Request& request, Id* labels,
                                     float* scores, Seen& seen) {
    switch (m.weights.storage) {
        case Storage::float32: return search_again<float>(m, x, request, labels, scores, seen);
        case Storage::float16: return search_again<Half>(m, x, request, labels, scores, seen);
        case Storage::int8: return search_again<std::int8_t>(m, x, request, labels, scores, seen);
    }
}

}  // namespace xtrellis::search
