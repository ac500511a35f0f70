// What the searches share: a query that walks the tree, and the answer it writes.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "core/lanes.hpp"
#include "core/topk.hpp"
#include "search/answer.hpp"
#include "search/margins.hpp"

namespace xtrellis::search {

// What a user asks for. `allowed` (one per slot, or null) closes slots: labels not wanted, nodes with none below them.
struct Request {
    Id beam = 10;  // nodes per level; 0 means no limit
    Id k = 10;
    const std::uint8_t* allowed = nullptr;
    float slack = 0;  // best-first: give up what could beat the k-th label by less than this factor (logarithm)
};

// Logarithms of scores below a node of score `score`, in place of margins. Works on whole vectors: `margins` has room
// for `max_block`, and what lies behind the first `size` is of no meaning before and after.
template <Transform transform>
XTRELLIS_INLINE void add_log_scores(float score, Offset size, float* margins) {
    using L = Lanes<8>;
    for (Offset c = 0; c < size; c += 8) {
        const L::Floats margin = L::load(margins + c);
        const L::Floats gap = L::max(1.0f - margin, L::all(0.0f));
        const L::Floats lost = transform == Transform::l3_hinge ? gap * gap * gap : gap * gap;
        L::store(margins + c, score + (margin == margin ? -lost : L::all(-INFINITY)));
    }
}

XTRELLIS_INLINE void to_scores(Transform transform, float score, Offset size, float* margins) {
    switch (transform) {
        case Transform::l2_hinge: return add_log_scores<Transform::l2_hinge>(score, size, margins);
        case Transform::l3_hinge: return add_log_scores<Transform::l3_hinge>(score, size, margins);
        case Transform::sigmoid: break;
    }
    for (Offset c = 0; c < size; ++c) margins[c] = score + log_score(transform, margins[c]);
}

// Calls use(c) for all c < size whose score is not below what least() says at that time. Most are: eight are left out
// at once.
template <class Least, class Use>
XTRELLIS_INLINE void each_above(const float* scores, Offset size, Least&& least, Use&& use) {
    using L = Lanes<8>;
    for (Offset from = 0; from < size; from += 8) {
        if (!L::any(L::load(scores + from) >= L::all(least()))) continue;
        for (Offset c = from; c < std::min<Offset>(from + 8, size); ++c) {
            if (scores[c] >= least()) use(c);
        }
    }
}

// What the children of a block are: bit 0 if there are labels among them, bit 1 if there are nodes.
XTRELLIS_INLINE unsigned kinds_of(const Id* children, Offset size) {
    Id all = -1, any = 0;
    for (Offset c = 0; c < size; ++c) {
        all &= children[c];
        any |= children[c];
    }
    return (any < 0 ? 1u : 0u) | (all >= 0 ? 2u : 0u);
}

// Logarithms of the scores of `size` children from slot `first` on: labels go to the answer, nodes that score not less
// than `least()` says at that time to `reached`.
template <class Least, class Reached>
XTRELLIS_INLINE void sift(const Model& m, const Request& request, Offset first, Offset size, const float* scores,
                          Answer& answer, Least&& least, Reached&& reached) {
    const Id* children = m.tree.children + first;
    const std::uint8_t* allowed = request.allowed ? request.allowed + first : nullptr;
    const unsigned kinds = kinds_of(children, size);
    if (kinds & 1) {
        each_above(
            scores, size, [&]() XTRELLIS_INLINED { return answer.floor(); },
            [&](Offset c) XTRELLIS_INLINED {
                if (children[c] < 0 && (!allowed || allowed[c])) answer.offer({scores[c], ~children[c]});
            });
    }
    if (kinds & 2) {
        each_above(scores, size, least, [&](Offset c) XTRELLIS_INLINED {
            if (children[c] >= 0 && (!allowed || allowed[c])) reached(Scored{scores[c], children[c]});
        });
    }
}

// The same of margins, which become logarithms of scores.
template <class Least, class Reached>
XTRELLIS_INLINE void judge(const Model& m, const Request& request, Offset first, Offset size, float score,
                           float* margins, Answer& answer, Least&& least, Reached&& reached) {
    to_scores(m.transform, score, size, margins);
    sift(m, request, first, size, margins, answer, least, reached);
}

// The places where a node's first block lists the buckets of a query's features: asked for while another node is worked
// on, they are near when its turn comes.
XTRELLIS_INLINE void ask_for(const Weights& w, Id node, const std::vector<std::uint32_t>& scattered) {
    const Offset b = w.block_offsets[node];
    if (b == w.block_offsets[node + 1]) return;
    const std::uint32_t* buckets = w.buckets + w.bucket_offsets[b];
    const auto count = static_cast<std::uint32_t>(w.bucket_offsets[b + 1] - w.bucket_offsets[b] - 1);
    const int shift = w.bits - (std::bit_width(count) - 1);
    for (const std::uint32_t id : scattered) __builtin_prefetch(buckets + (static_cast<std::uint64_t>(id) >> shift));
}

// All children of one node for one query.
template <class Value, class Use>
XTRELLIS_INLINE void evaluate(const Model& m, Id node, const SparseRow& x, const std::vector<std::uint32_t>& scattered,
                              float* margins, Use&& use) {
    const Offset slot = m.tree.offsets[node], children = m.tree.offsets[node + 1] - slot;
    for (Offset done = 0; done < children; done += max_block) {
        const Offset size = std::min<Offset>(max_block, children - done);
        const Block<Value> block(m.weights, m.weights.block_offsets[node] + done / max_block);
        const float* biases = m.weights.biases + slot + done;
        std::copy(biases, biases + size, margins);
        add_by_search(block, size, x, scattered.data(), margins);
        use(slot + done, size);
    }
}

}  // namespace xtrellis::search
