#include "softmax/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/dispatch.hpp"

namespace xtrellis::softmax {

namespace {

XTRELLIS_CLONES float dot(const float* a, const float* b, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

XTRELLIS_CLONES void add_row(float* to, float a, const float* from, int n) {
    for (int i = 0; i < n; ++i) to[i] += a * from[i];
}

// Which of a node's children, and how probable.
void expand(const Model& model, Id node, float score, std::span<const std::uint8_t> allowed, Searching& searching,
            bool copies) {
    const Tree& tree = model.tree;
    child_logs(model, node, searching.hidden.data(), searching.logs);
    const Offset begin = tree.offsets[node];
    for (Id c = 0; c < tree.arity(node); ++c) {
        const Offset slot = begin + c;
        if (!allowed.empty() && !allowed[static_cast<std::size_t>(slot)]) continue;
        const float here = score + searching.logs[static_cast<std::size_t>(c)];
        const Id child = tree.children[slot];
        if (child < 0) {
            copies ? searching.best.offer_once({here, ~child}) : searching.best.offer({here, ~child});
        } else if (!searching.best.full() || here >= searching.best.worst().score) {
            searching.open.push_back({here, child});
            std::push_heap(searching.open.begin(), searching.open.end());
        }
    }
}

}  // namespace

void hidden_vector(const Model& model, SparseRow row, std::vector<float>& hidden) {
    const RowWeights weights = row_weights(model.weighing, row, model.bias);
    const auto vector = [&](Id id) { return model.embeddings + static_cast<Offset>(id) * model.dim; };
    const bool plain = model.weighing == Weighing::average;
    hidden.assign(static_cast<std::size_t>(model.dim), 0.0f);
    add_row(hidden.data(), weights.bias, vector(model.bias_id), model.dim);
    for (std::size_t f = 0; f < row.size(); ++f) {
        if (f + 4 < row.size()) {
            for (int i = 0; i < model.dim; i += 16) __builtin_prefetch(vector(row.ids[f + 4]) + i);
        }
        add_row(hidden.data(), plain ? 1.0f : row.values[f], vector(row.ids[f]), model.dim);
    }
    for (float& x : hidden) x *= weights.scale;
}

void child_logs(const Model& model, Id node, const float* hidden, std::vector<float>& logs) {
    const Id count = model.tree.arity(node), first = model.tree.unit_begin[node];
    const auto score = [&](Id unit) {
        return dot(model.units + static_cast<Offset>(unit) * model.dim, hidden, model.dim);
    };
    logs.resize(static_cast<std::size_t>(count));
    if (count == 1) {
        logs[0] = 0;
    } else if (count == 2) {
        const float z = score(first), tail = std::log1p(std::exp(-std::fabs(z)));
        logs[0] = std::min(z, 0.0f) - tail;  // log σ(z)
        logs[1] = std::min(-z, 0.0f) - tail;
    } else {
        float most = -std::numeric_limits<float>::infinity();
        for (Id c = 0; c < count; ++c) most = std::max(most, logs[static_cast<std::size_t>(c)] = score(first + c));
        double total = 0;
        for (const float z : logs) total += std::exp(z - most);
        const float shift = most + static_cast<float>(std::log(total));
        for (float& z : logs) z = std::min(z - shift, 0.0f);
    }
}

void best_first(const Model& model, SparseRow row, std::span<const std::uint8_t> allowed, std::span<Id> labels,
                std::span<float> scores, Searching& searching) {
    hidden_vector(model, row, searching.hidden);
    const Tree& tree = model.tree;
    const bool copies = tree.copies;
    searching.best.reset(labels.size());
    searching.open.assign(1, {0.0f, 0});
    while (!searching.open.empty()) {
        const Open next = searching.open.front();
        // An equal one may still hold a smaller label id.
        if (searching.best.full() && next.score < searching.best.worst().score) break;
        std::pop_heap(searching.open.begin(), searching.open.end());
        searching.open.pop_back();
        expand(model, next.node, next.score, allowed, searching, copies);
    }
    std::fill(labels.begin(), labels.end(), -1);
    std::fill(scores.begin(), scores.end(), 0.0f);
    std::size_t found = 0;
    searching.best.drain([&](std::size_t i, const Scored& s) {
        labels[i] = s.label;
        scores[i] = std::exp(s.score);
        found = i + 1;
    });
    // Different logarithms may become equal probabilities, which are ordered by label.
    for (std::size_t i = 1; i < found; ++i) {
        for (std::size_t j = i; j > 0 && scores[j] == scores[j - 1] && labels[j] < labels[j - 1]; --j)
            std::swap(labels[j], labels[j - 1]);
    }
}

void score_given(const Model& model, SparseRow row, const Offset* label_offsets, const Id* label_slots,
                 std::span<const Id> labels, float* scores, Searching& searching) {
    hidden_vector(model, row, searching.hidden);
    const Tree& tree = model.tree;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        float best = -std::numeric_limits<float>::infinity();
        for (Offset place = label_offsets[labels[i]]; place < label_offsets[labels[i] + 1]; ++place) {
            // The same sum in the same order as search has it: from the root down.
            searching.path.clear();
            for (Offset slot = label_slots[place]; slot >= 0; slot = tree.node_slot[tree.owner[slot]])
                searching.path.push_back(slot);
            float score = 0;
            for (auto step = searching.path.rbegin(); step != searching.path.rend(); ++step) {
                const Id node = tree.owner[*step];
                child_logs(model, node, searching.hidden.data(), searching.logs);
                score += searching.logs[static_cast<std::size_t>(*step - tree.offsets[node])];
            }
            best = std::max(best, score);
        }
        scores[i] = std::exp(best);
    }
}

}  // namespace xtrellis::softmax
