#include "neural/graph.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/topk.hpp"
#include "neural/tile.hpp"

namespace xtrellis::neural {
namespace {

// Which labels a query has seen: a stamp a label, so that nothing is cleared between queries.
struct Seen {
    std::vector<std::uint32_t> stamps;
    std::uint32_t now = 0;
    void start(std::size_t labels) {
        if (stamps.size() < labels) stamps.resize(labels, 0);
        if (++now == 0) {
            std::fill(stamps.begin(), stamps.end(), 0);
            now = 1;
        }
    }
    bool first_time(Id label) {
        auto& stamp = stamps[static_cast<std::size_t>(label)];
        if (stamp == now) return false;
        stamp = now;
        return true;
    }
};

struct Worse {
    bool operator()(const Scored& a, const Scored& b) const { return better(b, a); }
};

}  // namespace

XTRELLIS_CLONES void walk(const Graph& graph, const float* queries, Offset n, const float* vectors, Offset labels,
                          Offset dim, Offset beam, Offset k, Id* found, float* scores) {
    thread_local Seen seen;
    std::vector<Scored> open;  // a heap, the best on top
    std::vector<Id> fresh;
    TopKHeap best;
    for (Offset row = 0; row < n; ++row) {
        const float* query = queries + row * dim;
        seen.start(static_cast<std::size_t>(labels));
        best.reset(static_cast<std::size_t>(std::max(beam, k)));
        open.clear();
        const auto look = [&](Id label) __attribute__((always_inline)) {
            const Scored s{dot(query, vectors + static_cast<Offset>(label) * dim, dim), label};
            if (best.full() && !better(s, best.worst())) return;
            best.offer(s);
            open.push_back(s);
            std::push_heap(open.begin(), open.end(), Worse{});
        };
        for (Offset e = 0; e < graph.n_entries; ++e) {
            if (seen.first_time(graph.entries[e])) look(graph.entries[e]);
        }
        while (!open.empty()) {
            std::pop_heap(open.begin(), open.end(), Worse{});
            const Scored from = open.back();
            open.pop_back();
            if (best.full() && better(best.worst(), from)) break;
            const Id* next = graph.neighbours + static_cast<Offset>(from.label) * graph.width;
            fresh.clear();
            for (Offset i = 0; i < graph.width && next[i] >= 0; ++i) {
                if (!seen.first_time(next[i])) continue;
                fresh.push_back(next[i]);
                const float* vector = vectors + static_cast<Offset>(next[i]) * dim;
                for (Offset j = 0; j < std::min<Offset>(dim, 128); j += 16) __builtin_prefetch(vector + j);
            }
            for (const Id label : fresh) look(label);
        }
        std::fill(found + row * k, found + (row + 1) * k, -1);
        std::fill(scores + row * k, scores + (row + 1) * k, 0.0f);
        best.drain([&](std::size_t i, const Scored& s) {
            if (static_cast<Offset>(i) >= k) return;
            found[row * k + static_cast<Offset>(i)] = s.label;
            scores[row * k + static_cast<Offset>(i)] = s.score;
        });
    }
}

}  // namespace xtrellis::neural
