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

template <class Value>
XTRELLIS_INLINE Offset walk(const Model& m, const SparseRow& x, const Request& request, Id* labels, float* scores) {
    thread_local std::vector<Reached> queue;
    thread_local std::vector<Id> expanded;  // nodes of each depth, for the beam
    thread_local std::vector<std::uint32_t> scattered;
    thread_local Answer answer;
    scatter_all(x, m.weights.bits, scattered);
    answer.begin(m, request.k);
    queue.assign(1, {0.0f, 0, 0});
    expanded.clear();
    float margins[max_block] = {};
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
        evaluate<Value>(m, best.node, x, scattered, margins, [&](Offset slot, Offset size) {
            judge(
                m, request, slot, size, best.score, margins, answer,
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

}  // namespace

XTRELLIS_CLONES Offset best_first(const Model& m, const SparseRow& x, const Request& request, Id* labels,
                                  float* scores) {
    switch (m.weights.storage) {
        case Storage::float16: return walk<Half>(m, x, request, labels, scores);
        case Storage::int8: return walk<std::int8_t>(m, x, request, labels, scores);
        default: return walk<float>(m, x, request, labels, scores);
    }
}

}  // namespace xtrellis::search
