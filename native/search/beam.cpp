#include "search/beam.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/dispatch.hpp"
#include "search/margins.hpp"

namespace xtrellis::search {
namespace {

// A node that a query has reached, with the logarithm of its score.
struct Visit {
    Id node;
    Id query;
    float score;
    Id rank;  // among the query's nodes of this level
};

// Higher score first, then smaller node: a total order, so nothing depends on the order of arrival.
bool ahead(const Scored& a, const Scored& b) { return better(a, b); }

void write_answer(TopKHeap& heap, Id k, Id* labels, float* scores) {
    std::fill(labels, labels + k, -1);
    std::fill(scores, scores + k, 0.0f);
    heap.drain([&](std::size_t i, const Scored& s) {
        labels[i] = s.label;
        scores[i] = std::exp(s.score);
    });
}

// Children of one node: labels go to the query's heap, nodes to its list of candidates.
template <class AddFeatures>
void expand(const Model& m, Id node, float score, AddFeatures&& add, float* margins, TopKHeap& heap,
            std::vector<Scored>& candidates) {
    const Offset begin = m.tree.offsets[node], count = m.tree.offsets[node + 1] - begin;
    const Offset first_block = m.weights.block_offsets[node];
    for (Offset done = 0; done < count; done += max_block) {
        const Offset size = std::min<Offset>(max_block, count - done);
        const float* biases = m.weights.biases + begin + done;
        std::copy(biases, biases + size, margins);
        add(first_block + done / max_block, margins);
        for (Offset c = 0; c < size; ++c) {
            const Id child = m.tree.children[begin + done + c];
            const float total = score + log_score(m.transform, margins[c]);
            if (child < 0) heap.offer({total, ~child});
            else candidates.push_back({total, child});
        }
    }
}

bool hopeless(const TopKHeap& heap, float score) { return heap.full() && score < heap.worst().score; }

void keep_best(std::vector<Scored>& candidates, Id beam) {
    if (candidates.size() > static_cast<std::size_t>(beam)) {
        std::nth_element(candidates.begin(), candidates.begin() + beam, candidates.end(), ahead);
        candidates.resize(static_cast<std::size_t>(beam));
    }
    std::sort(candidates.begin(), candidates.end(), ahead);
}

}  // namespace

void search_batch(const Model& m, const Csr& X, Offset first, Offset last, BeamSettings settings, Id* labels,
                  float* scores) {
    const auto queries = static_cast<std::size_t>(last - first);
    FeatureTable table(m.weights.n_features);
    std::vector<TopKHeap> heaps(queries, TopKHeap(static_cast<std::size_t>(settings.k)));
    std::vector<std::vector<Scored>> candidates(queries);
    std::vector<Visit> visits, wave;
    for (std::size_t q = 0; q < queries; ++q) visits.push_back({0, static_cast<Id>(q), 0.0f, 0});
    float margins[max_block];

    // A query's most promising nodes go first; what they find often makes the rest hopeless.
    constexpr Id first_wave = 2;
    const auto serve = [&](auto&& wanted) {
        wave.clear();
        for (const Visit& v : visits) {
            if (wanted(v) && !hopeless(heaps[static_cast<std::size_t>(v.query)], v.score)) wave.push_back(v);
        }
        std::sort(wave.begin(), wave.end(),
                  [](const Visit& a, const Visit& b) { return a.node != b.node ? a.node < b.node : a.query < b.query; });
        for (std::size_t begin = 0; begin < wave.size();) {
            const Id node = wave[begin].node;
            std::size_t end = begin;
            while (end < wave.size() && wave[end].node == node) ++end;
            const Offset blocks = m.weights.block_offsets[node + 1] - m.weights.block_offsets[node];
            if (blocks == 1) {
                table.open(m.weights, m.weights.block_offsets[node]);
                for (std::size_t i = begin; i < end; ++i) {
                    const auto q = static_cast<std::size_t>(wave[i].query);
                    const SparseRow x = X[first + wave[i].query];
                    expand(m, node, wave[i].score, [&](Offset b, float* out) { table.add(m.weights, b, x, out); }, margins,
                           heaps[q], candidates[q]);
                }
                table.close(m.weights, m.weights.block_offsets[node]);
            } else {
                for (std::size_t i = begin; i < end; ++i) {
                    const auto q = static_cast<std::size_t>(wave[i].query);
                    const SparseRow x = X[first + wave[i].query];
                    expand(m, node, wave[i].score, [&](Offset b, float* out) { add_by_search(m.weights, b, x, out); }, margins,
                           heaps[q], candidates[q]);
                }
            }
            begin = end;
        }
    };
    while (!visits.empty()) {
        serve([](const Visit& v) { return v.rank < first_wave; });
        serve([](const Visit& v) { return v.rank >= first_wave; });
        visits.clear();
        for (std::size_t q = 0; q < queries; ++q) {
            keep_best(candidates[q], settings.beam);
            Id rank = 0;
            for (const Scored& c : candidates[q]) visits.push_back({c.label, static_cast<Id>(q), c.score, rank++});
            candidates[q].clear();
        }
    }
    for (std::size_t q = 0; q < queries; ++q) {
        write_answer(heaps[q], settings.k, labels + q * static_cast<std::size_t>(settings.k), scores + q * static_cast<std::size_t>(settings.k));
    }
}

void search_single(const Model& m, const SparseRow& x, BeamSettings settings, Id* labels, float* scores) {
    thread_local std::vector<Scored> level, candidates;
    TopKHeap heap(static_cast<std::size_t>(settings.k));
    float margins[max_block];
    level.assign(1, {0.0f, 0});
    while (!level.empty()) {
        candidates.clear();
        for (const Scored& v : level) {
            if (hopeless(heap, v.score)) break;
            expand(m, v.label, v.score, [&](Offset b, float* out) { add_by_search(m.weights, b, x, out); }, margins, heap, candidates);
        }
        keep_best(candidates, settings.beam);
        level.swap(candidates);
    }
    write_answer(heap, settings.k, labels, scores);
}

}  // namespace xtrellis::search
