#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"
#include "search/searches.hpp"

namespace xtrellis::search {
namespace {

// The score of a slot: all nodes above it are looked into, from the root on, that were not before. What lies below a
// slot that scores less than `least` is not looked into: then anything less than `least`, and not less than the score.
template <class Value>
XTRELLIS_INLINE float score_of(const Model& m, const Places& places, const SparseRow& x, Id slot, float least,
                               Seen& seen) {
    thread_local std::vector<Id> path;  // slots whose nodes are to be looked into, from below
    path.assign(1, slot);
    const float* found;
    while (!(found = seen.find(places.owner[path.back()])) && places.node_slot[places.owner[path.back()]] >= 0)
        path.push_back(places.node_slot[places.owner[path.back()]]);
    if (!found) found = seen.look<Value>(m, x, places.owner[path.back()], 0.0f);
    while (true) {
        const Id at = path.back();
        const float score = found[at - m.tree.offsets[places.owner[at]]];
        path.pop_back();
        if (path.empty() || score < least) return score;
        found = seen.look<Value>(m, x, places.owner[path.back()], score);
    }
}

template <class Value>
XTRELLIS_INLINE float score_label(const Model& m, const Places& places, const SparseRow& x, Id label, float least,
                                  Seen& seen) {
    thread_local std::vector<Scored> found;
    found.clear();
    const float offset = m.label_offsets ? m.label_offsets[label] : 0.0f;
    if (m.copies == Copies::mean) least = -INFINITY;  // places that are far behind count too
    for (Offset c = places.label_offsets[label]; c < places.label_offsets[label + 1]; ++c)
        found.push_back({score_of<Value>(m, places, x, places.label_slots[c], least, seen) + offset, label});
    std::sort(found.begin(), found.end(), better);
    return std::exp(m.copies == Copies::mean ? mean_of_places(found.data(), found.data() + found.size())
                                             : found.front().score);
}

}  // namespace

XTRELLIS_CLONES float given_seen(const Model& m, const Places& places, const SparseRow& x, Id label, float least,
                                 Seen& seen) {
    switch (m.weights.storage) {
        case Storage::float16: return score_label<Half>(m, places, x, label, least, seen);
        case Storage::int8: return score_label<std::int8_t>(m, places, x, label, least, seen);
        default: return score_label<float>(m, places, x, label, least, seen);
    }
}

void given(const Model& m, const Places& places, const SparseRow& x, std::span<const Id> labels, float* scores) {
    thread_local Seen seen;
    seen.begin(m, x);
    for (std::size_t i = 0; i < labels.size(); ++i) scores[i] = given_seen(m, places, x, labels[i], -INFINITY, seen);
}

}  // namespace xtrellis::search
