#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"
#include "search/searches.hpp"

namespace xtrellis::search {
namespace {

// A node that a query has reached, with the logarithm of its score.
struct Visit {
    Id node;
    Id query;
    float score;
};

// Bytes of a block that one query pays for: fewer queries than that look their features up one by one.
constexpr std::size_t worth_opening = 2048;

// By node, then by query: a stable counting sort, since visits come query by query.
void sort_by_node(const std::vector<Visit>& visits, std::vector<Visit>& sorted, std::vector<std::uint32_t>& counts) {
    const auto [low, high] = std::minmax_element(visits.begin(), visits.end(),
                                                 [](const Visit& a, const Visit& b) { return a.node < b.node; });
    const Id lowest = low->node;
    counts.assign(static_cast<std::size_t>(high->node - lowest) + 2, 0);
    for (const Visit& v : visits) ++counts[static_cast<std::size_t>(v.node - lowest) + 1];
    for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
    sorted.resize(visits.size());
    for (const Visit& v : visits) sorted[counts[static_cast<std::size_t>(v.node - lowest)]++] = v;
}

template <class Value>
XTRELLIS_INLINE void batch(const Model& m, const Csr& X, Offset first, Offset last, const Request& request, Id* labels,
                           float* scores) {
    const auto queries = static_cast<std::size_t>(last - first);
    BlockTable table(m.weights.bits);
    std::vector<Answer> answers(queries);
    for (Answer& answer : answers) answer.begin(m, request.k);
    std::vector<std::vector<Scored>> reached(queries);
    std::vector<Visit> visits(queries), sorted;
    std::vector<std::uint32_t> counts;
    for (std::size_t q = 0; q < queries; ++q) visits[q] = {0, static_cast<Id>(q), 0.0f};
    const Offset begin_entry = X.offsets[first];
    std::vector<std::uint32_t> scattered(static_cast<std::size_t>(X.offsets[last] - begin_entry));
    for (std::size_t i = 0; i < scattered.size(); ++i)
        scattered[i] = scatter(X.ids[begin_entry + static_cast<Offset>(i)], m.weights.bits);
    float margins[max_block] = {};

    while (!visits.empty()) {
        sort_by_node(visits, sorted, counts);
        for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
            const Id node = sorted[begin].node;
            while (end < sorted.size() && sorted[end].node == node) ++end;
            const Offset slot = m.tree.offsets[node], children = m.tree.offsets[node + 1] - slot;
            for (Offset done = 0; done < children; done += max_block) {
                const Offset size = std::min<Offset>(max_block, children - done);
                const Block<Value> block(m.weights, m.weights.block_offsets[node] + done / max_block);
                const bool share = (end - begin) * worth_opening >= block.size;
                if (share) table.open(block, size, end - begin);
                const float* biases = m.weights.biases + slot + done;
                for (std::size_t i = begin; i < end; ++i) {
                    const auto q = static_cast<std::size_t>(sorted[i].query);
                    if (answers[q].hopeless(sorted[i].score)) continue;
                    const Offset row = first + sorted[i].query;
                    std::copy(biases, biases + size, margins);
                    const std::uint32_t* ids = scattered.data() + (X.offsets[row] - begin_entry);
                    if (share) table.add(X[row], ids, margins);
                    else add_by_search(block, size, X[row], ids, margins);
                    judge(m, request, slot + done, size, sorted[i].score, margins, answers[q],
                          [&](Scored s) { reached[q].push_back(s); });
                    // A wide node reaches more than will stay: cut now and then, or a chunk's candidates fill the
                    // memory.
                    if (request.beam > 0 && reached[q].size() > 4 * static_cast<std::size_t>(request.beam) + 256)
                        cut(reached[q], request.beam);
                }
                if (share) table.close();
            }
        }
        visits.clear();
        for (std::size_t q = 0; q < queries; ++q) {
            cut(reached[q], request.beam);
            for (const Scored& s : reached[q]) visits.push_back({s.label, static_cast<Id>(q), s.score});
            reached[q].clear();
        }
    }
    const auto k = static_cast<std::size_t>(request.k);
    for (std::size_t q = 0; q < queries; ++q) answers[q].write(request.k, labels + q * k, scores + q * k);
}

}  // namespace

XTRELLIS_CLONES void beam_batch(const Model& m, const Csr& X, Offset first, Offset last, const Request& request,
                                Id* labels, float* scores) {
    switch (m.weights.storage) {
        case Storage::float32: return batch<float>(m, X, first, last, request, labels, scores);
        case Storage::float16: return batch<_Float16>(m, X, first, last, request, labels, scores);
        case Storage::int8: return batch<std::int8_t>(m, X, first, last, request, labels, scores);
    }
}

}  // namespace xtrellis::search
