// Stochastic gradient descent for hierarchical softmax over averaged embeddings (fastText: Joulin et al. 2017), by a
// team of threads that share the dimensions of every vector instead of the rows.
//
// The visits of an epoch (a row and a slot that it should reach) go by in blocks. For each block every thread computes
// the hidden vectors and its part of all scores in its own dimensions, the team meets once, and every thread updates
// its own dimensions. No parameter is touched by two threads, so there is nothing to lock and nothing that bounces
// between caches; and the result is the same for any number of threads. In the asynchronous way (Recht et al. 2011)
// threads share the rows instead and all parameters, without meeting: not repeatable.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "core/roomy.hpp"
#include "softmax/shape.hpp"
#include "softmax/step.hpp"
#include "softmax/team.hpp"

namespace xtrellis::softmax {

struct TrainSettings {
    int dim = 100;
    int members = 1;  // threads
    int batch = 8;    // visits a block
    bool asynchronous = false;
    Weighing weighing = Weighing::average;
    float bias = 1;
    std::uint64_t key = 0;  // of the embeddings' first values
};

// Shards that a dimension is cut into, and so the threads that can share it.
int shard_count(int dim);

class Trainer {
public:
    Trainer(const Csr& X, const Tree& tree, Offset units, const TrainSettings& settings);

    int members() const { return team_.size(); }
    // Member m's part of the visits first .. last; the rate falls from rates[0] to rates[1] meanwhile. All members must
    // be called at once with the same arguments.
    void run(int member, std::span<const Id> rows, std::span<const Id> slots, double rate_first, double rate_last);
    // The trained vectors, row-major, without padding: (features + 1) × dim and units × dim.
    void collect(float* embeddings, float* units) const;

private:
    struct Member {
        Share share;
        Roomy<float> embeddings, units;
        std::vector<float> hidden, gradients, steps, scores;
        std::vector<Visit> visits;
        std::vector<BlockRow> rows;
    };
    void prepare(int member);
    std::size_t fill(Member& me, std::span<const Id> rows, std::span<const Id> slots, std::size_t at,
                     Block& block) const;

    Csr X_;
    Offset units_;
    TrainSettings settings_;
    Paths paths_;
    Team team_;
    int shards_, chunks_;
    Offset unit_stride_;
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<float> scores_[2];
    const Ops* ops_;
};

}  // namespace xtrellis::softmax
