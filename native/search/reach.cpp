#include "search/reach.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "core/topk.hpp"
#include "search/margins.hpp"
#include "search/table.hpp"

namespace xtrellis::search {
namespace {

// The best `beam`, in no order. Equal scores fall to the smaller node, so it does not matter who came first.
void cut(std::vector<Scored>& candidates, std::size_t beam) {
    if (candidates.size() <= beam) return;
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(beam), candidates.end(),
                     better);
    candidates.resize(beam);
}

template <class Value>
XTRELLIS_INLINE Beams reach_stored(const Model& level, Id first_node, const Csr& X, Offset first, Offset last,
                                   BeamsView held, Id beam) {
    const auto rows = static_cast<std::size_t>(last - first);
    const auto width = static_cast<std::size_t>(beam);
    // Who holds each node: all rows of a node are served from one table of its features.
    struct Holder {
        Id row;
        float score;
    };
    std::vector<std::size_t> begin(static_cast<std::size_t>(level.tree.nodes) + 1, 0);
    const auto each = [&](auto&& use) {
        for (Offset r = first; r < last; ++r) {
            for (Offset i = held.offsets[r]; i < held.offsets[r + 1]; ++i) {
                const Offset node = static_cast<Offset>(held.nodes[i]) - first_node;
                if (node >= 0 && node < level.tree.nodes)
                    use(static_cast<std::size_t>(node), static_cast<Id>(r - first), held.scores[i]);
            }
        }
    };
    each([&](std::size_t node, Id, float) { ++begin[node + 1]; });
    for (std::size_t v = 1; v < begin.size(); ++v) begin[v] += begin[v - 1];
    std::vector<Holder> holders(begin.back());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    each([&](std::size_t node, Id row, float score) { holders[next[node]++] = {row, score}; });

    // A table is as long as the feature space. In a wide one the rows would not pay for it, and its memory (2 bytes a
    // column, on every thread) would be the most that training takes: features are looked up one by one, to the same
    // bits.
    const bool tabled = rows << 10 >= std::size_t{1} << level.weights.bits;
    BlockTable table;
    const Offset begin_entry = X.offsets[first];
    std::vector<std::uint32_t> scattered(static_cast<std::size_t>(X.offsets[last] - begin_entry));
    for (std::size_t i = 0; i < scattered.size(); ++i)
        scattered[i] = scatter(X.ids[begin_entry + static_cast<Offset>(i)], level.weights.bits);
    std::vector<std::vector<Scored>> candidates(rows);
    float margins[max_block] = {};
    for (Offset node = 0; node < level.tree.nodes; ++node) {
        const auto v = static_cast<std::size_t>(node);
        if (begin[v] == begin[v + 1]) continue;
        const Offset slots = level.tree.offsets[node], count = level.tree.offsets[node + 1] - slots;
        for (Offset done = 0; done < count; done += max_block) {
            const Offset size = std::min<Offset>(max_block, count - done);
            const Id* children = level.tree.children + slots + done;
            if (std::none_of(children, children + size, [](Id child) { return child >= 0; })) continue;
            const float* biases = level.weights.biases + slots + done;
            const Block<Value> block(level.weights, level.weights.block_offsets[node] + done / max_block);
            const bool shared = tabled && table.open(block, size, level.weights.bits);
            for (std::size_t h = begin[v]; h < begin[v + 1]; ++h) {
                std::copy(biases, biases + size, margins);
                const Offset row = first + holders[h].row;
                const std::uint32_t* ids = scattered.data() + (X.offsets[row] - begin_entry);
                if (shared) table.add(X[row], ids, margins);
                else add_by_search(block, size, X[row], ids, margins);
                auto& mine = candidates[static_cast<std::size_t>(holders[h].row)];
                for (Offset c = 0; c < size; ++c) {
                    if (children[c] >= 0)
                        mine.push_back({holders[h].score + log_score(level.transform, margins[c]), children[c]});
                }
                if (mine.size() > 4 * width + max_block) cut(mine, width);  // a wide beam over wide nodes stays small
            }
            if (shared) table.close();
        }
    }

    Beams out;
    out.offsets.reserve(rows + 1);
    out.offsets.push_back(0);
    for (auto& mine : candidates) {
        cut(mine, width);
        std::sort(mine.begin(), mine.end(), [](const Scored& a, const Scored& b) { return a.label < b.label; });
        for (const Scored& s : mine) {
            out.nodes.push_back(s.label);
            out.scores.push_back(s.score);
        }
        out.offsets.push_back(static_cast<Offset>(out.nodes.size()));
        std::vector<Scored>().swap(mine);
    }
    return out;
}

}  // namespace

XTRELLIS_CLONES Beams reach(const Model& level, Id first_node, const Csr& X, Offset first, Offset last, BeamsView held,
                            Id beam) {
    switch (level.weights.storage) {
        case Storage::float16: return reach_stored<Half>(level, first_node, X, first, last, held, beam);
        case Storage::int8: return reach_stored<std::int8_t>(level, first_node, X, first, last, held, beam);
        default: return reach_stored<float>(level, first_node, X, first, last, held, beam);
    }
}

}  // namespace xtrellis::search
