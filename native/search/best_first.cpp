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

// A label that may be among the best needs the scores of all its places: those that the walk has not come to are looked at.
template <class Value>
XTRELLIS_INLINE Offset complete(const Model& m, const SparseRow& x, const std::vector<std::uint32_t>& scattered, Answer& answer, Scores& kept) {
    thread_local std::vector<Id> path, candidates;
    answer.candidates(m, kept, candidates);
    float margins[max_block] = {};
    Offset nodes = 0;
    for (const Id label : candidates) {
        for (Offset c = m.places.label_offsets[label]; c < m.places.label_offsets[label + 1]; ++c) {
            path.clear();  // the nodes above it that nobody has looked into, from below
            for (Id slot = m.places.label_slots[c]; !answer.kept(slot, kept); slot = m.places.node_slot[path.back()]) path.push_back(m.places.owner[slot]);
            for (; !path.empty(); path.pop_back(), ++nodes) {
                const float above = *answer.kept(m.places.node_slot[path.back()], kept);  // the root is always expanded
                evaluate<Value>(m, path.back(), x, scattered, margins, [&](Offset slot, Offset size) {
                    for (Offset i = 0; i < size; ++i) margins[i] = above + log_score(m.transform, margins[i]);
                    answer.keep(slot, size, margins, kept);
                });
            }
        }
    }
    return nodes;
}

template <class Value>
XTRELLIS_INLINE Offset walk(const Model& m, const SparseRow& x, const Request& request, Id* labels, float* scores) {
    thread_local std::vector<Reached> queue;
    thread_local std::vector<Id> expanded;  // nodes of each depth, for the beam
    thread_local std::vector<std::uint32_t> scattered;
    thread_local Answer answer;
    thread_local Scores kept;
    kept.clear();
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
        if (answer.beaten(best.score - request.slack)) break;
        if (request.beam > 0) {
            if (static_cast<std::size_t>(best.depth) >= expanded.size()) expanded.resize(static_cast<std::size_t>(best.depth) + 1, 0);
            if (expanded[static_cast<std::size_t>(best.depth)]++ >= request.beam) continue;
        }
        ++nodes;
        evaluate<Value>(m, best.node, x, scattered, margins, [&](Offset slot, Offset size) {
            judge(m, request, slot, size, best.score, margins, answer, [&](Scored s) {
                queue.push_back({s.score, s.label, best.depth + 1});
                std::push_heap(queue.begin(), queue.end(), later);
            });
            if (answer.by_mean()) answer.keep(slot, size, margins, kept);
        });
    }
    if (answer.by_mean() && request.beam == 0) nodes += complete<Value>(m, x, scattered, answer, kept);
    answer.write(m, kept, request.k, labels, scores);
    return nodes;
}

}  // namespace

XTRELLIS_CLONES Offset best_first(const Model& m, const SparseRow& x, const Request& request, Id* labels, float* scores) {
    switch (m.weights.storage) {
        case Storage::float16: return walk<_Float16>(m, x, request, labels, scores);
        case Storage::int8: return walk<std::int8_t>(m, x, request, labels, scores);
        default: return walk<float>(m, x, request, labels, scores);
    }
}

}  // namespace xtrellis::search
