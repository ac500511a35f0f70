#include <algorithm>
#include <vector>

#include "core/dispatch.hpp"
#include "search/searches.hpp"
#include "search/table.hpp"

namespace xtrellis::search {
namespace {

// A node that a query has reached, with the logarithm of its score.
struct Visit {
    Id node;
    Id query;
    float score;
};

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

// What belongs to one query while the tree is walked.
struct Query {
    Answer answer;
    TopKHeap reached;                 // nodes of the next level
    std::size_t begin = 0, size = 0;  // its features
};

// Below the nodes of a level lie labels: a query's best nodes are looked into first, then the next ones, then the rest.
// What the first of them hold makes many of the others hopeless.
constexpr std::size_t rounds[] = {2, 5, static_cast<std::size_t>(-1)};

template <class Value>
class Batch {
public:
    XTRELLIS_INLINE Batch(const Model& m, const Csr& X, Offset first, Offset last, const Request& request)
        : m_(m), request_(request), ids_(X.ids + X.offsets[first]), values_(X.values + X.offsets[first]),
          queries_(static_cast<std::size_t>(last - first)) {
        const Offset base = X.offsets[first];
        scattered_.resize(static_cast<std::size_t>(X.offsets[last] - base));
        usual_size_ = scattered_.size() / std::max<std::size_t>(1, queries_.size());
        for (std::size_t i = 0; i < scattered_.size(); ++i) scattered_[i] = scatter(ids_[i], m.weights.bits);
        const auto beam = static_cast<std::size_t>(request.beam > 0 ? request.beam : m.tree.nodes);
        for (std::size_t q = 0; q < queries_.size(); ++q) {
            const Offset row = first + static_cast<Offset>(q);
            queries_[q].answer.begin(m, request.k);
            queries_[q].reached.reset(beam);
            queries_[q].begin = static_cast<std::size_t>(X.offsets[row] - base);
            queries_[q].size = static_cast<std::size_t>(X.length(row));
        }
    }

    XTRELLIS_INLINE void walk() {
        std::vector<Visit> level(queries_.size()), some;
        for (std::size_t q = 0; q < queries_.size(); ++q) level[q] = {0, static_cast<Id>(q), 0.0f};
        bool labels = false;  // below the level's nodes
        while (!level.empty()) {
            std::size_t from = 0;
            for (const std::size_t to : rounds) {
                if (labels) choose(level, from, to, some);
                visit(labels ? some : level);
                if (!labels) break;
                from = to;
            }
            level.clear();
            labels = false;
            for (std::size_t q = 0; q < queries_.size(); ++q) {
                queries_[q].reached.drain([&](std::size_t, const Scored& s) {
                    level.push_back({s.label, static_cast<Id>(q), s.score});
                    labels |= m_.tree.children[m_.tree.offsets[s.label]] < 0;
                });
            }
        }
    }

    XTRELLIS_INLINE void write(Id* labels, float* scores) {
        const auto k = static_cast<std::size_t>(request_.k);
        for (std::size_t q = 0; q < queries_.size(); ++q)
            queries_[q].answer.write(request_.k, labels + q * k, scores + q * k);
    }

private:
    // Of each query's visits, best first, those from number `from` up to `to` that are not hopeless by now.
    void choose(const std::vector<Visit>& level, std::size_t from, std::size_t to, std::vector<Visit>& some) const {
        some.clear();
        std::size_t number = 0;
        for (std::size_t i = 0; i < level.size(); ++i) {
            number = i > 0 && level[i].query == level[i - 1].query ? number + 1 : 0;
            if (number >= from && number < to && !of(level[i]).answer.hopeless(level[i].score))
                some.push_back(level[i]);
        }
    }

    // Visits node by node: a node's block stays near the core while it serves them.
    XTRELLIS_INLINE void visit(const std::vector<Visit>& visits) {
        if (visits.empty()) return;
        sort_by_node(visits, sorted_, counts_);
        float margins[max_block] = {};
        for (std::size_t begin = 0, end = 0; begin < sorted_.size(); begin = end) {
            const Id node = sorted_[begin].node;
            while (end < sorted_.size() && sorted_[end].node == node) ++end;
            const Offset slot = m_.tree.offsets[node], children = m_.tree.offsets[node + 1] - slot;
            for (Offset done = 0; done < children; done += max_block) {
                const Offset size = std::min<Offset>(max_block, children - done);
                const Block<Value> block(m_.weights, m_.weights.block_offsets[node] + done / max_block);
                const float* biases = m_.weights.biases + slot + done;
                const bool shared = BlockTable::pays(block, size, (end - begin) * usual_size_, m_.weights.bits) &&
                                    table_.open(block, size, m_.weights.bits);
                for (std::size_t i = begin; i < end; ++i) {
                    fetch(i, end);
                    Query& query = queries_[static_cast<std::size_t>(sorted_[i].query)];
                    if (query.answer.hopeless(sorted_[i].score)) continue;
                    std::copy(biases, biases + size, margins);
                    const SparseRow x{{ids_ + query.begin, query.size}, {values_ + query.begin, query.size}};
                    const std::uint32_t* ids = scattered_.data() + query.begin;
                    if (shared) table_.add(x, ids, margins);
                    else add_by_search(block, size, x, ids, margins);
                    judge(
                        m_, request_, slot + done, size, sorted_[i].score, margins, query.answer,
                        [&]()
                            XTRELLIS_INLINED { return query.reached.full() ? query.reached.worst().score : -INFINITY; },
                        [&](Scored s) XTRELLIS_INLINED { query.reached.offer(s); });
                }
                if (shared) table_.close();
            }
        }
    }

    // Queries of the next visits, and their features: between two visits of a query others came, and it is far away.
    XTRELLIS_INLINE void fetch(std::size_t i, std::size_t end) const {
        if (i + 4 < end) {
            const Query& query = of(sorted_[i + 4]);
            __builtin_prefetch(&query);
            __builtin_prefetch(&query.begin);
        }
        if (i + 2 < end) {
            const std::size_t at = of(sorted_[i + 2]).begin;
            __builtin_prefetch(scattered_.data() + at);
            __builtin_prefetch(scattered_.data() + at + 16);
            __builtin_prefetch(values_ + at);
            __builtin_prefetch(values_ + at + 16);
        }
    }
    const Query& of(const Visit& visit) const { return queries_[static_cast<std::size_t>(visit.query)]; }

    const Model& m_;
    const Request& request_;
    const Id* ids_;
    const float* values_;
    std::vector<Query> queries_;
    std::vector<std::uint32_t> scattered_;
    std::size_t usual_size_ = 0;  // features of a query, in the mean
    BlockTable table_;
    std::vector<Visit> sorted_;
    std::vector<std::uint32_t> counts_;
};

template <class Value>
XTRELLIS_INLINE void batch(const Model& m, const Csr& X, Offset first, Offset last, const Request& request, Id* labels,
                           float* scores) {
    Batch<Value> found(m, X, first, last, request);
    found.walk();
    found.write(labels, scores);
}

}  // namespace

XTRELLIS_CLONES void beam_batch(const Model& m, const Csr& X, Offset first, Offset last, const Request& request,
                                Id* labels, float* scores) {
    switch (m.weights.storage) {
        case Storage::float32: return batch<float>(m, X, first, last, request, labels, scores);
        case Storage::float16: return batch<Half>(m, X, first, last, request, labels, scores);
        case Storage::int8: return batch<std::int8_t>(m, X, first, last, request, labels, scores);
    }
}

}  // namespace xtrellis::search
