#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"
#include "search/searches.hpp"

namespace xtrellis::search {
namespace {

template <class Value>
XTRELLIS_INLINE void score_given(const Model& m, const Places& places, const SparseRow& x, std::span<const Id> labels,
                                 float* scores) {
    // Every node above a wanted label, in order of numbers: parents come before children.
    thread_local std::vector<Id> nodes;
    thread_local std::vector<float> slot_scores;  // of the evaluated nodes' slots, node after node
    thread_local std::vector<Offset> begins;
    thread_local std::vector<std::uint32_t> scattered;
    scatter_all(x, m.weights.bits, scattered);
    nodes.clear();
    for (const Id label : labels) {
        for (Offset c = places.label_offsets[label]; c < places.label_offsets[label + 1]; ++c) {
            for (Id slot = places.label_slots[c]; slot >= 0; slot = places.node_slot[places.owner[slot]])
                nodes.push_back(places.owner[slot]);
        }
    }
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    slot_scores.clear();
    begins.clear();
    const auto score_of = [&](Id slot) {
        const Id node = places.owner[slot];
        const auto at = static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin());
        return slot_scores[static_cast<std::size_t>(begins[at] + slot - m.tree.offsets[node])];
    };
    float margins[max_block] = {};
    for (const Id node : nodes) {
        const float above = node == 0 ? 0.0f : score_of(places.node_slot[node]);
        begins.push_back(static_cast<Offset>(slot_scores.size()));
        evaluate<Value>(m, node, x, scattered, margins, [&](Offset, Offset size) {
            for (Offset c = 0; c < size; ++c) slot_scores.push_back(above + log_score(m.transform, margins[c]));
        });
    }
    thread_local std::vector<Scored> found;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        found.clear();
        const float offset = m.label_offsets ? m.label_offsets[labels[i]] : 0.0f;
        for (Offset c = places.label_offsets[labels[i]]; c < places.label_offsets[labels[i] + 1]; ++c) {
            found.push_back({score_of(places.label_slots[c]) + offset, labels[i]});
        }
        std::sort(found.begin(), found.end(), better);
        scores[i] = std::exp(m.copies == Copies::mean ? mean_of_places(found.data(), found.data() + found.size())
                                                      : found.front().score);
    }
}

}  // namespace

XTRELLIS_CLONES void given(const Model& m, const Places& places, const SparseRow& x, std::span<const Id> labels,
                           float* scores) {
    switch (m.weights.storage) {
        case Storage::float32: return score_given<float>(m, places, x, labels, scores);
        case Storage::float16: return score_given<Half>(m, places, x, labels, scores);
        case Storage::int8: return score_given<std::int8_t>(m, places, x, labels, scores);
    }
}

}  // namespace xtrellis::search
