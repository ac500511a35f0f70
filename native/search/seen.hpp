// Nodes that a query has looked into: what it found there is kept, for whoever asks again.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "search/walk.hpp"

namespace xtrellis::search {

// The scores (logarithms) of all slots of such nodes, in one tree and for one query.
class Seen {
public:
    void begin(const Model& m, const SparseRow& x) {
        scatter_all(x, m.weights.bits, scattered_);
        scores_.clear();
        nodes_.clear();
        places_.assign(64, 0);
    }
    const std::vector<std::uint32_t>& scattered() const { return scattered_; }

    // Whole vectors may be read from there, up to the next call.
    const float* find(Id node) const {
        for (std::size_t at = start(node); places_[at]; at = (at + 1) & (places_.size() - 1)) {
            const Looked& looked = nodes_[places_[at] - 1];
            if (looked.node == node) return scores_.data() + looked.begin;
        }
        return nullptr;
    }

    // The scores below a node that itself scores `above`.
    template <class Value>
    XTRELLIS_INLINE const float* look(const Model& m, const SparseRow& x, Id node, float above) {
        const std::size_t begin = scores_.size();
        const Offset first = m.tree.offsets[node], children = m.tree.offsets[node + 1] - first;
        float margins[max_block] = {};
        scores_.resize(begin + static_cast<std::size_t>((children + 7) / 8 * 8));
        evaluate<Value>(m, node, x, scattered_, margins, [&](Offset slot, Offset size) {
            to_scores(m.transform, above, size, margins);
            std::copy(margins, margins + size, scores_.begin() + static_cast<std::ptrdiff_t>(begin) + (slot - first));
        });
        nodes_.push_back({node, begin});
        if (2 * nodes_.size() > places_.size()) {
            places_.assign(2 * places_.size(), 0);
            for (std::size_t i = 0; i < nodes_.size(); ++i) place(i);
        } else {
            place(nodes_.size() - 1);
        }
        return scores_.data() + begin;
    }

private:
    struct Looked {
        Id node;
        std::size_t begin;
    };
    std::size_t start(Id node) const {
        return (static_cast<std::uint32_t>(node) * multiplier >> 7) & (places_.size() - 1);
    }
    void place(std::size_t i) {
        std::size_t at = start(nodes_[i].node);
        while (places_[at]) at = (at + 1) & (places_.size() - 1);
        places_[at] = static_cast<std::uint32_t>(i + 1);
    }
    std::vector<std::uint32_t> scattered_, places_;  // one more than where a node is listed; 0: nobody
    std::vector<Looked> nodes_;
    std::vector<float> scores_;
};

}  // namespace xtrellis::search
