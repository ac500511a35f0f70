// The most probable labels of a row, exactly: best-first search over log-probabilities, which never grow on the way
// down. A node is expanded only if some label below it may still be among the k best.
#pragma once

#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/topk.hpp"
#include "softmax/shape.hpp"

namespace xtrellis::softmax {

// Parameters as they lie on disk: row-major, no padding.
struct Model {
    Tree tree;
    const float* embeddings = nullptr;  // (features + 1) × dim
    const float* units = nullptr;
    int dim = 0;
    Id bias_id = 0;
    Weighing weighing = Weighing::average;
    float bias = 1;
};

struct Open {
    float score;
    Id node;
    bool operator<(const Open& other) const {
        return score < other.score || (score == other.score && node > other.node);
    }
};

// What one thread searches in.
struct Searching {
    std::vector<float> hidden, logs;
    std::vector<Open> open;
    std::vector<Offset> path;
    TopKHeap best;
};

void hidden_vector(const Model& model, SparseRow row, std::vector<float>& hidden);
// log P(child | node) of every child.
void child_logs(const Model& model, Id node, const float* hidden, std::vector<float>& logs);
// `allowed` says which slots may be entered; empty: all. Answers have min(k, reachable labels) entries, -1 after them.
void best_first(const Model& model, SparseRow row, std::span<const std::uint8_t> allowed, std::span<Id> labels,
                std::span<float> scores, Searching& searching);
// Probabilities of given labels; of several places the best.
void score_given(const Model& model, SparseRow row, const Offset* label_offsets, const Id* label_slots,
                 std::span<const Id> labels, float* scores, Searching& searching);

}  // namespace xtrellis::softmax
