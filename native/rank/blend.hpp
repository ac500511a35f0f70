// The answers of several models to a row become one: each label once, with what every model says of it, weighed by
// boosted trees.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/topk.hpp"
#include "rank/boost.hpp"

namespace xtrellis::rank {

constexpr Offset says = 4;  // of a label, each model: score, rank, score beside its best, its best

struct Answers {
    const Id* labels;  // rows × width: model after model, best first; -1: none
    const float* scores;
    Offset width;
    const Offset* begins;  // n_members + 1: where each model's columns begin
    Offset n_members;
};

inline float beside(float score, float best) { return best > 0 ? score / best : score - best; }

// The labels of a row, each once: the number of each is where it was first met. Room for `most` labels.
class Pool {
public:
    explicit Pool(std::size_t most) : slots_(std::bit_ceil(2 * most + 2), 0), labels_(most) {}
    void clear() {
        std::fill(slots_.begin(), slots_.end(), 0);
        size_ = 0;
    }
    std::size_t number(Id label) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (static_cast<std::uint32_t>(label) * 2654435769u >> 7) & mask;
        for (; slots_[at]; at = (at + 1) & mask) {
            if (labels_[slots_[at] - 1] == label) return slots_[at] - 1;
        }
        labels_[size_] = label;
        slots_[at] = static_cast<std::uint32_t>(++size_);
        return size_ - 1;
    }
    std::size_t size() const { return size_; }
    Id label(std::size_t number) const { return labels_[number]; }

private:
    std::vector<std::uint32_t> slots_;  // numbers, and 1 more; 0: nobody
    std::vector<Id> labels_;
    std::size_t size_ = 0;
};

// Rows first .. last; ranks beyond `wide` count as wide + 1, and what a model does not propose scores `unknown`.
// -1 and 0 pad the k answers of a row. `allowed` has one per label, 0 for those that may not be answered (null: all
// may); they keep their ranks among the members' answers, so that what is said of the others does not change.
inline void blend(const Answers& answers, const SymmetricTrees& trees, double base, const float* frequency, Offset wide,
                  float unknown, double tie, const std::uint8_t* allowed, Offset first, Offset last, Offset k,
                  Id* out_labels, float* out_scores, InstructionSet instructions = InstructionSet::avx512) {
    const Offset n_inputs = answers.n_members * says + 1;
    const auto block = static_cast<std::size_t>(n_inputs * lanes);
    // The inputs of 64 pairs lie together, as the trees read them.
    const auto most = static_cast<std::size_t>(answers.width);
    std::vector<float> nothing(static_cast<std::size_t>(n_inputs), 0.0f), inputs((most / lanes + 1) * block);
    Pool pool(most);
    TopKHeap found;
    for (Offset row = first; row < last; ++row) {
        for (Offset m = 0; m < answers.n_members; ++m) {
            const Offset begin = row * answers.width + answers.begins[m];
            const Offset n = answers.begins[m + 1] - answers.begins[m];
            const float best = n > 0 && answers.labels[begin] >= 0 ? answers.scores[begin] : 0.0f;
            float* own = nothing.data() + m * says;
            own[0] = unknown, own[1] = static_cast<float>(wide + 1), own[2] = beside(unknown, best), own[3] = best;
        }
        pool.clear();
        for (Offset m = 0; m < answers.n_members; ++m) {
            const Offset begin = row * answers.width + answers.begins[m];
            const Offset n = answers.begins[m + 1] - answers.begins[m];
            const float best = nothing[static_cast<std::size_t>(m * says) + 3];
            for (Offset j = 0; j < n; ++j) {
                const Id label = answers.labels[begin + j];
                if (label < 0 || (allowed && !allowed[label])) continue;
                const std::size_t met = pool.size(), at = pool.number(label);
                float* here = inputs.data() + at / lanes * block;
                if (at == met && at % lanes == 0) {  // the first of a block: nobody has said anything yet
                    for (std::size_t i = 0; i < nothing.size(); ++i) std::fill_n(here + i * lanes, lanes, nothing[i]);
                }
                here += at % lanes;
                if (at == met) here[(n_inputs - 1) * lanes] = frequency[label];
                const float score = answers.scores[begin + j];
                here += m * says * lanes;
                here[0] = score, here[lanes] = static_cast<float>(std::min(j, wide) + 1);
                here[2 * lanes] = beside(score, best);
            }
        }
        found.reset(static_cast<std::size_t>(k));
        for (std::size_t begin = 0; begin < pool.size(); begin += lanes) {
            const float* here = inputs.data() + begin / lanes * block;
            std::array<double, lanes> total, more{};
            total.fill(base);
            add_trees(trees, here, total.data(), instructions);
            for (Offset m = 0; m < answers.n_members; ++m) {  // what the trees do not tell apart keeps their order
                const float* own = here + (m * says + 2) * lanes;
                for (std::size_t i = 0; i < lanes; ++i) more[i] += static_cast<double>(std::clamp(own[i], 0.0f, 1.0f));
            }
            for (std::size_t i = 0; i < std::min<std::size_t>(lanes, pool.size() - begin); ++i) {
                const double odds = static_cast<double>(static_cast<float>(total[i])) + tie * more[i];
                found.offer({static_cast<float>(odds), pool.label(begin + i)});
            }
        }
        const std::size_t at = static_cast<std::size_t>(row) * static_cast<std::size_t>(k);
        std::fill_n(out_labels + at, k, -1);
        std::fill_n(out_scores + at, k, 0.0f);
        found.drain([&](std::size_t i, const Scored& s) {
            out_labels[at + i] = s.label;
            out_scores[at + i] = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(s.score))));
        });
    }
}

}  // namespace xtrellis::rank
