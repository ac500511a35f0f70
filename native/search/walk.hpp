// What the searches share: a query that walks the tree, and the answer it writes.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

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

// Margins of `size` children from slot `first` on become logarithms of scores: labels go to the answer, nodes to
// `reached`.
template <class Reached>
XTRELLIS_INLINE void judge(const Model& m, const Request& request, Offset first, Offset size, float score,
                           float* margins, Answer& answer, Reached&& reached) {
    for (Offset c = 0; c < size; ++c) margins[c] = score + log_score(m.transform, margins[c]);
    const Id* children = m.tree.children + first;
    const std::uint8_t* allowed = request.allowed ? request.allowed + first : nullptr;
    for (Offset c = 0; c < size; ++c) {
        if (allowed && !allowed[c]) continue;
        if (children[c] >= 0) reached(Scored{margins[c], children[c]});
        else answer.offer({margins[c], ~children[c]});
    }
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

// The best `beam` of some nodes, in any order.
inline void cut(std::vector<Scored>& nodes, Id beam) {
    if (beam > 0 && nodes.size() > static_cast<std::size_t>(beam)) {
        std::nth_element(nodes.begin(), nodes.begin() + beam, nodes.end(), better);
        nodes.resize(static_cast<std::size_t>(beam));
    }
}

}  // namespace xtrellis::search
